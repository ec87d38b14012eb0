"""Documents built to exhaust memory or time: each is skipped by name, and the others are read."""

import io
import struct
import zipfile
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path

from attacks.target import Target

# 1 GB for the parsing process, 200 MB for its parent.
_MEMORY_MIB = 1_400
_SECONDS = 240
_GOOD = "The ferry leaves Brannock pier at seven each morning, and the last boat returns at nine in the evening. "
_TYPES = (
    '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
    '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    '<Override PartName="/word/document.xml" '
    'ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>'
)
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_RELATIONS = (
    '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
    '<Relationship Id="r1" Type="{}" Target="{}"/></Relationships>'
)
_WORD = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'


def _skipped(target: Target, folder: Path, name: str, data: bytes) -> str:
    """Chunk a folder with a hostile file, which must be skipped, and a good one; return the fault."""
    docs = folder / "docs"
    docs.mkdir()
    (docs / name).write_bytes(data)
    (docs / "good.txt").write_text(_GOOD * 20, encoding="utf-8")
    out = folder / "out.jsonl"
    outcome = target.run("chunk", docs, "--out", out, seconds=_SECONDS, memory_mib=_MEMORY_MIB)
    fault = outcome.fault(0, message=f"Skipped {name}: ")
    target.last_line = next((line for line in outcome.text.splitlines() if line.startswith("Skipped")), "")
    return fault or ("" if "ferry" in out.read_text(encoding="utf-8") else "the other file was not read")


def _read(target: Target, folder: Path, name: str, data: bytes, memory_mib: float) -> str:
    """Chunk a large but harmless file; return the fault."""
    (folder / name).write_bytes(data)
    out = folder / "out.jsonl"
    outcome = target.run("chunk", folder / name, "--out", out, seconds=_SECONDS, memory_mib=memory_mib)
    return outcome.fault((0, 2))


def _pdf(dictionary: bytes, stream: bytes, start: bytes = b"stream\n") -> bytes:
    """Return a PDF with one page and a content stream."""
    return b"".join(
        (
            b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n",
            b"3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/Contents 4 0 R/Resources<<>>>>endobj\n",
            b"4 0 obj<<%s/Length %d>>%s" % (dictionary, len(stream), start),
            stream,
            b"\nendstream endobj\ntrailer<</Root 1 0 R>>\n%%EOF",
        )
    )


def _compressed_spaces(size: int) -> bytes:
    compressor = zlib.compressobj(9)
    return b"".join([*(compressor.compress(b" " * (1 << 20)) for _ in range(size >> 20)), compressor.flush()])


def _archive(files: Mapping[str, str | bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def _docx(body: str, **parts: str) -> bytes:
    document = f"<w:document {_WORD}><w:body>{body}</w:body></w:document>"
    files = {
        "[Content_Types].xml": _TYPES,
        "_rels/.rels": _RELATIONS.format(f"{_OFFICE}/officeDocument", "word/document.xml"),
        "word/_rels/document.xml.rels": _RELATIONS.format(f"{_OFFICE}/styles", "styles.xml"),
        "word/document.xml": document,
        "word/styles.xml": f"<w:styles {_WORD}/>",
    }
    return _archive(files | {f"word/{name}.xml": content for name, content in parts.items()})


def pdf_content_stream_marked_as_image(target: Target, folder: Path) -> str:
    """Mark a content stream as an image."""
    data = _pdf(b"/X/Image/Filter/FlateDecode", _compressed_spaces(2 << 30))
    return _skipped(target, folder, "bomb.pdf", data)


def pdf_bomb_in_hexadecimal(target: Target, folder: Path) -> str:
    """Encode a compressed bomb as hexadecimal."""
    data = _pdf(b"/Filter[/ASCIIHexDecode/FlateDecode]", _compressed_spaces(1 << 30).hex().encode() + b">")
    return _skipped(target, folder, "bomb.pdf", data)


def pdf_stream_after_a_lone_carriage_return(target: Target, folder: Path) -> str:
    """Start a stream in a way that the specification forbids and readers accept."""
    data = _pdf(b"/Filter/FlateDecode", _compressed_spaces(1 << 30), b"stream\r")
    return _skipped(target, folder, "bomb.pdf", data)


def pdf_bomb_of_run_lengths(target: Target, folder: Path) -> str:
    """Repeat each of four million bytes 128 times."""
    data = _pdf(b"/Filter/RunLengthDecode", b"\x81 " * (4 << 20) + b"\x80")
    return _skipped(target, folder, "bomb.pdf", data)


def pdf_page_with_ten_million_letters(target: Target, folder: Path) -> str:
    """Draw ten million letters on one page."""
    data = _pdf(b"/Filter/FlateDecode", zlib.compress(b"BT /F1 9 Tf " + b"(abcdefghij) Tj " * 1_000_000 + b"ET"))
    return _skipped(target, folder, "full.pdf", data)


def docx_with_entities_in_its_styles(target: Target, folder: Path) -> str:
    """Declare nested entities that expand to 10^9 characters."""
    entities = '<!ENTITY e0 "' + "A" * 1000 + '">'
    entities += "".join(f'<!ENTITY e{level} "{f"&e{level - 1};" * 10}">' for level in range(1, 7))
    styles = f'<!DOCTYPE s [{entities}]><w:styles {_WORD}><w:style w:styleId="&e6;"/></w:styles>'
    return _skipped(target, folder, "bomb.docx", _docx("<w:p/>", styles=styles))


def docx_with_entities_of_elements(target: Target, folder: Path) -> str:
    """Repeat an entity of small elements as often as the parser's limit on growth allows."""
    declared = f'<!ENTITY e "{"<a/>" * 2_000}">'
    styles = f"<!DOCTYPE s [{declared}]><!-- {'x' * 300_000} --><w:styles {_WORD}>{'&e;' * 3_500}</w:styles>"
    return _skipped(target, folder, "bomb.docx", _docx("<w:p/>", styles=styles))


def docx_with_a_false_size_in_its_directory(target: Target, folder: Path) -> str:
    """Declare a size of a thousand bytes for a part of a gigabyte."""
    huge = "<w:p/>" * (1 << 20)
    data = bytearray(_docx("<w:p/>", styles=f"<w:styles {_WORD}>{huge * 170}</w:styles>"))
    entry = data.rfind(b"word/styles.xml") - 46  # in the central directory
    data[entry + 24 : entry + 28] = struct.pack("<I", 1000)
    return _skipped(target, folder, "bomb.docx", bytes(data))


def docx_of_a_million_paragraphs(target: Target, folder: Path) -> str:
    """Repeat a short paragraph, which compresses to almost nothing."""
    return _skipped(target, folder, "bomb.docx", _docx("<w:p><w:r><w:t>a</w:t></w:r></w:p>" * 3_000_000))


def html_tag_with_a_million_attributes(target: Target, folder: Path) -> str:
    """Write one tag with very many attributes."""
    attributes = " ".join(f"a{number}=1" for number in range(1_300_000))
    return _read(target, folder, "attributes.html", f"<p {attributes}>{_GOOD * 9}</p>".encode(), _MEMORY_MIB)


def html_with_deeply_nested_tags(target: Target, folder: Path) -> str:
    """Nest 200,000 unclosed tags."""
    return _read(target, folder, "deep.html", b"<div>a" * 200_000, _MEMORY_MIB)


def epub_with_sixty_thousand_files(target: Target, folder: Path) -> str:
    """Fill an archive with empty files."""
    return _skipped(target, folder, "many.epub", _archive({f"{number}.xml": "" for number in range(60_000)}))


def csv_with_one_wide_row(target: Target, folder: Path) -> str:
    """Write one wide row in a long table, which makes every row as wide."""
    return _skipped(target, folder, "wide.csv", b"a," * 40_000 + b"\nb" * 40_000)


def text_of_thirty_megabytes_in_one_line(target: Target, folder: Path) -> str:
    """Write almost the maximum length of text without a space."""
    return _read(target, folder, "line.txt", b"ab" * (15 << 20), 4_000)


def text_of_a_million_lines(target: Target, folder: Path) -> str:
    """Write almost the maximum number of lines."""
    return _read(target, folder, "lines.txt", b"## a\n\n" * 499_000, 4_000)


def endless_device(target: Target, folder: Path) -> str:
    """Pass a device as a document."""
    del folder
    return target.run("chunk", "/dev/zero", "--out", "out.jsonl", memory_mib=_MEMORY_MIB).fault(2)


ATTACKS: tuple[Callable[[Target, Path], str], ...] = (
    pdf_content_stream_marked_as_image,
    pdf_bomb_in_hexadecimal,
    pdf_stream_after_a_lone_carriage_return,
    pdf_bomb_of_run_lengths,
    pdf_page_with_ten_million_letters,
    docx_with_entities_in_its_styles,
    docx_with_entities_of_elements,
    docx_with_a_false_size_in_its_directory,
    docx_of_a_million_paragraphs,
    html_tag_with_a_million_attributes,
    html_with_deeply_nested_tags,
    epub_with_sixty_thousand_files,
    csv_with_one_wide_row,
    text_of_thirty_megabytes_in_one_line,
    text_of_a_million_lines,
    endless_device,
)
