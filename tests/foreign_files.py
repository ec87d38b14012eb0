"""Files of foreign formats, as small as they can be, and what parsers make of them."""

import io
import zipfile
import zlib
from collections.abc import Callable

from groundset.corpus.parsing import Parsed, parse

_TYPES = (
    '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
    '<Default Extension="rels"'
    ' ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    '<Default Extension="png" ContentType="image/png"/>'
    '<Override PartName="/word/document.xml" '
    'ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>'
)
_RELATIONS = (
    "<Relationships"
    ' xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r1"'
    ' Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument"'
    ' Target="word/document.xml"/></Relationships>'
)
_NAMESPACE = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
_DOCUMENT = f"<w:document {_NAMESPACE}><w:body>{{}}</w:body></w:document>"

PROSE = (
    "This paragraph is long enough to count as prose, since it has more than eighty characters"
    " in it."
)


def archive(files: dict[str, str | bytes]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as target:
        for name, content in files.items():
            target.writestr(name, content)
    return packed.getvalue()


def docx(paragraphs: str, *, styles: str = "", **media: bytes) -> bytes:
    files = {
        "[Content_Types].xml": _TYPES,
        "_rels/.rels": _RELATIONS,
        "word/document.xml": _DOCUMENT.format(paragraphs),
    }
    if styles:
        files["word/styles.xml"] = f"<w:styles {_NAMESPACE}>{styles}</w:styles>"
    return archive(files | {f"word/media/{name}.png": content for name, content in media.items()})


def pdf(
    drawing: bytes,
    pages: int = 1,
    pack: Callable[[bytes], bytes] = zlib.compress,
    filters: bytes = b"/FlateDecode",
) -> bytes:
    """Return a document whose pages all show the same, packed in a way that ``filters`` undo."""
    stream = pack(drawing)
    kids = b" ".join(b"%d 0 R" % (5 + page) for page in range(pages))
    font = b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>"
    page = (
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents 4 0 R/Resources<</Font<</F1 3 0"
        b" R>>>>>>"
    )
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Count %d/Kids[%s]>>" % (pages, kids),
        font,
        b"<</Length %d/Filter%s>>stream\n%s\nendstream" % (len(stream), filters, stream),
        *[page] * pages,
    ]
    data = b"%PDF-1.4\n"
    places = []
    for number, content in enumerate(objects, 1):
        places.append(len(data))
        data += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    end = b"trailer<</Root 1 0 R/Size %d>>\nstartxref\n%d\n%%%%EOF" % (len(objects) + 1, len(data))
    return data + b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1) + table + end


def parsed(text: str, suffix: str) -> Parsed:
    return parse(text.encode(), suffix)


def outline(found: Parsed) -> list[tuple[int, str]]:
    for heading in found.headings:
        first_word = heading.text.split()[0].strip("`")
        assert first_word in found.text[heading.start :].split("\n")[0]
    return [(heading.level, heading.text) for heading in found.headings]
