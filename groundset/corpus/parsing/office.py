"""Convert Word documents, slides, spreadsheets, e-books and files of records to Markdown."""

import io
import re
import sys
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import PurePosixPath
from types import ModuleType
from typing import Any

from bs4 import BeautifulSoup

from groundset.corpus.parsing import Parsed, UnparsableError, clean, decode, records
from groundset.corpus.parsing.html import MARKDOWN_OPTIONS, prepared, to_markdown
from groundset.corpus.parsing.markdown import parse_converted, parse_markdown

_TITLE_STYLE = (
    "p[style-name='Title'] => h1:fresh"  # Word's internal name, the same in every language
)
_OLE = b"\xd0\xcf\x11\xe0"
_ENCRYPTED = "EncryptedPackage".encode("utf-16-le")
_READERS: dict[str, Callable[[bytes], str]] = {
    ".ipynb": records.notebook,
    **dict.fromkeys((".csv", ".tsv"), records.values),
    **dict.fromkeys((".json", ".jsonl"), records.records),
    ".eml": records.mail,
    ".org": partial(records.outline, sign="*"),
    **dict.fromkeys((".adoc", ".asciidoc"), partial(records.outline, sign="=")),
}
_RECORDS = frozenset({".csv", ".tsv", ".json", ".jsonl"})
_PAGES = frozenset({".html", ".htm", ".xhtml"})
_TEXTS = _PAGES | frozenset({"", ".xml", ".rels", ".vml", ".opf", ".ncx"})
# Raised or lowered by two points or more: another way to write an exponent or an index.
_POSITION = re.compile(rb'<w:position w:val="(-?)(?:[4-9]|[1-9]\d+)" ?/>')
_INTEGRAL = (
    '<m:naryPr><m:chr m:val="∫"/>'.encode()
)  # the sign unless another one follows; markitdown knows no default
_PROPERTIES = re.compile(rb"<m:(f|acc|bar|d|groupChr)>(?!<m:\1Pr)")  # markitdown fails without them
# Text boxes of newer documents, which mammoth reads only as older ones.
_ALTERNATIVES = re.compile(
    rb"<mc:AlternateContent>\s*<mc:Choice[^>]*>(.*?)</mc:Choice>(.*?)</mc:AlternateContent>", re.S
)
_DRAWING, _BOX = (
    re.compile(rb"<w:drawing>.*?</w:drawing>", re.S),
    re.compile(rb"<wps:txbx[^>]*>(.*?)</wps:txbx>", re.S),
)
_TEXT_BOX = b'<w:pict><v:textbox xmlns:v="urn:schemas-microsoft-com:vml">%s</v:textbox></w:pict>'
_DOCUMENT_TYPE = re.compile(rb"<\0*!\0*D\0*O\0*C\0*T\0*Y\0*P\0*E")  # in UTF-8 and UTF-16


def parse_office(data: bytes, suffix: str) -> Parsed:
    """Parse a document into Markdown, its title and its headings.

    Raises:
        UnparsableError: it is encrypted, or the package for its format is missing.
    """
    captions: list[str] = []
    if suffix == ".docx":
        markdown, captions = _word(_texts_only(data, suffix))
    elif suffix in _READERS:
        markdown = _READERS[suffix](data)
    else:
        markdown = _converted(_texts_only(data, suffix), suffix)
    parse = parse_markdown if suffix in _READERS else parse_converted
    parsed = parse(clean(markdown))
    if suffix in _RECORDS and sum(heading.level == 1 for heading in parsed.headings) != 1:
        parsed = parsed._replace(title=None)  # that of the first of several records
    return parsed._replace(captions=captions)


def _texts_only(data: bytes, suffix: str) -> io.BytesIO:
    """Return an archive with its pictures, fonts and embedded files emptied.

    Raises:
        UnparsableError: it is no archive; or an office document declares a document type, which
            ECMA-376 part 2 forbids: without one it cannot declare entities that expand to
            gigabytes.
    """
    if data.startswith(_OLE):
        raise UnparsableError(
            "password-protected" if _ENCRYPTED in data else "not a file of the format of its name"
        )
    slim = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as archive, zipfile.ZipFile(slim, "w") as copy:
        for entry in archive.infolist():
            kind = PurePosixPath(entry.filename).suffix.lower()
            content = _readable(archive.read(entry), kind) if kind in _TEXTS else b""
            if suffix != ".epub" and _DOCUMENT_TYPE.search(content):
                raise UnparsableError("declares an XML document type")
            copy.writestr(entry.filename, content)
    return slim


def _readable(content: bytes, kind: str) -> bytes:
    """Return a part of a document with what the libraries would lose written in another way."""
    if kind in _PAGES:
        prepared(page := BeautifulSoup(clean(decode(content)), "html.parser"))
        return str(page).encode()
    content = _PROPERTIES.sub(rb"<m:\1><m:\1Pr></m:\1Pr>", content).replace(
        b"<m:naryPr>", _INTEGRAL
    )
    content = _POSITION.sub(
        lambda found: b'<w:vertAlign w:val="%s"/>' % (b"subscript" if found[1] else b"superscript"),
        content,
    )
    if b"<wps:txbx" not in content:
        return content
    content = _ALTERNATIVES.sub(
        lambda found: found[0] if b"<w:txbxContent" in found[2] else found[1], content
    )
    return _DRAWING.sub(
        lambda found: b"".join(_TEXT_BOX % box for box in _BOX.findall(found[0])) or found[0],
        content,
    )


def _word(stream: io.BytesIO) -> tuple[str, list[str]]:
    _markitdown()
    import mammoth
    from markitdown.converter_utils.docx.math.omml import Tag2Method, oMath2Latex
    from markitdown.converter_utils.docx.pre_process import pre_process_docx

    def latex(self: Any, part: Any, stag: str) -> Any:
        try:
            return Tag2Method.call_method(self, part, stag)
        except Exception:  # noqa: BLE001 - as above; it would take all equations of the document with it
            return " ".join(part.itertext())

    oMath2Latex.call_method = latex  # what cannot be converted leaves its characters
    oMath2Latex.tag2meth |= dict.fromkeys(
        ("sPre", "borderBox", "phant"), oMath2Latex.process_children
    )
    html = mammoth.convert_to_html(
        pre_process_docx(stream), style_map=_TITLE_STYLE
    ).value  # formulas become LaTeX
    return to_markdown(BeautifulSoup(html, "html.parser"))


def _converted(stream: io.BytesIO, suffix: str) -> str:
    converters = _markitdown()
    from markitdown import MissingDependencyException, StreamInfo

    converter = getattr(converters, f"{suffix[1:].title()}Converter")()
    about = StreamInfo(extension=suffix, charset="utf-8")
    try:
        return str(converter.convert(stream, about, **MARKDOWN_OPTIONS).markdown)
    except MissingDependencyException:
        raise UnparsableError(f"needs pip install 'markitdown[{suffix[1:]}]'") from None


def _markitdown() -> ModuleType:
    """Import markitdown's converters without the slow magika that they do not need."""
    sys.modules.setdefault("magika", ModuleType("magika"))
    from markitdown import converters

    return converters  # type: ignore[no-any-return]
