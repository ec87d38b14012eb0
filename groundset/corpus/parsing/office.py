"""Convert Word documents, slides, spreadsheets, e-books and files of records to Markdown."""

import io
import re
import sys
import zipfile
from collections.abc import Callable, Mapping
from pathlib import PurePosixPath
from types import ModuleType
from typing import Any

from bs4 import BeautifulSoup, Tag

from groundset.corpus.parsing import Parsed, UnparsableError, clean, decode, records
from groundset.corpus.parsing.html import MARKDOWN_OPTIONS, prepared, to_markdown
from groundset.corpus.parsing.markdown import parse_converted, parse_markdown

_OLE = b"\xd0\xcf\x11\xe0"
_ENCRYPTED = "EncryptedPackage".encode("utf-16-le")
_READERS: dict[str, Callable[[bytes], str]] = {
    ".ipynb": records.notebook,
    **dict.fromkeys((".csv", ".tsv"), records.values),
    **dict.fromkeys((".json", ".jsonl"), records.records),
    ".eml": records.mail,
}
_RECORDS = frozenset({".csv", ".tsv", ".json", ".jsonl"})
_PAGES = frozenset({".html", ".htm", ".xhtml"})
_TEXTS = _PAGES | {"", ".xml", ".rels", ".vml", ".opf", ".ncx"}
_BODY = 9  # the outline level of text
_LEVEL = "outline"  # our style of a heading, before its level
_NAMED = re.compile(r"heading ([1-9])", re.IGNORECASE)  # Word's internal name
_RAISED = 4  # half points; as much is another way to write an exponent or an index
# Formulas without properties, which markitdown fails for; for an integral, it knows no default.
_FORMULAS = ["m:f", "m:acc", "m:bar", "m:d", "m:groupChr"]
_VML = "urn:schemas-microsoft-com:vml"
_INTEGRAL = {"m:val": "∫"}
# Of converted sheets: cells without a value, rows of such cells, and a title in the place of the
# header.
_NO_VALUE = re.compile(r"(?<=\| )(?:NaN|Unnamed: \d+)(?= \|)")
_NO_VALUES = re.compile(r"^[| ]+\n", re.MULTILINE)
_TITLE_ROW = re.compile(r"^\| ([^|\n]+) \|(?:  \|)+\n(\|[-| ]+\|)\n(.+)$", re.MULTILINE)
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
        markdown = sheets(markdown) if suffix == ".xlsx" else markdown
    parse = parse_markdown if suffix in _READERS else parse_converted
    parsed = parse(clean(markdown))
    if suffix in _RECORDS and sum(heading.level == 1 for heading in parsed.headings) != 1:
        parsed = parsed._replace(title=None)  # that of the first of several records
    return parsed._replace(captions=captions)


def _texts_only(data: bytes, suffix: str) -> io.BytesIO:
    """Return an archive with its pictures, fonts and embedded files emptied, and with what the
    libraries would lose written in another way.

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
        texts = {
            entry.filename: archive.read(entry)
            for entry in archive.infolist()
            if PurePosixPath(entry.filename).suffix.lower() in _TEXTS
        }
        if suffix != ".epub" and any(map(_DOCUMENT_TYPE.search, texts.values())):
            raise UnparsableError("declares an XML document type")
        levels = _outline_levels(texts.get("word/styles.xml", b""))
        for name in archive.namelist():
            content = texts.get(name, b"")
            if PurePosixPath(name).suffix.lower() in _PAGES:
                prepared(page := BeautifulSoup(clean(decode(content)), "html.parser"))
                content = str(page).encode()
            elif re.fullmatch(r"word/(?:document|footnotes|endnotes)\d*\.xml", name):
                content = _readable(content, levels)
            copy.writestr(name, content)
    return slim


def _outline_levels(styles: bytes) -> dict[str, int]:
    """Return the level of each style of paragraphs that is an outline level, or based on such a
    style.
    """
    found = {
        str(style.get("w:styleId")): style
        for style in BeautifulSoup(styles, "xml").find_all("w:style")
    }

    def level(name: str, depth: int = 0) -> int:
        style = found.get(name)
        if style is None or depth > len(found):
            return _BODY
        if own := style.find("w:outlineLvl"):
            return int(str(own["w:val"]))
        if named := _NAMED.fullmatch(_value(style.find("w:name"))):
            return int(named[1]) - 1
        return level(_value(style.find("w:basedOn")), depth + 1)

    return {name: level(name) for name in found}


def _readable(content: bytes, levels: Mapping[str, int]) -> bytes:
    """Return a part of a Word document with headings by their outline levels, text boxes without a
    fallback, raised text and formulas as the libraries read them.
    """
    page = BeautifulSoup(content, "xml")
    for properties in page.find_all("w:pPr"):
        style, own = (
            properties.find(name, recursive=False) for name in ("w:pStyle", "w:outlineLvl")
        )
        level = int(_value(own)) if own else levels.get(_value(style), _BODY)
        if level < _BODY:
            if style:
                style.decompose()
            named = page.new_tag("w:pStyle", attrs={"w:val": f"{_LEVEL}{min(level + 1, 6)}"})
            properties.insert(0, named)
    for choice in page.find_all("mc:AlternateContent"):
        fallback = choice.find("mc:Fallback")
        if choice.find("w:txbxContent") and not (fallback and fallback.find("w:txbxContent")):
            choice.replace_with(choice.find("w:drawing") or choice)
    for drawing in page.find_all("w:drawing"):
        if boxes := drawing.find_all("w:txbxContent"):
            # A shape of older documents, as mammoth reads them.
            shape = page.new_tag("w:pict", attrs={"xmlns:v": _VML})
            drawing.replace_with(shape)
            for box in boxes:
                box.wrap(page.new_tag("v:textbox"))
                shape.append(box.parent or box)
    for position in page.find_all("w:position"):
        height = float(_value(position))
        if abs(height) >= _RAISED:
            position.name = "vertAlign"  # in the same namespace
            position["w:val"] = "superscript" if height > 0 else "subscript"
    for formula in page.find_all(_FORMULAS):
        if not formula.find(f"{formula.name}Pr", recursive=False):
            formula.insert(0, page.new_tag(f"m:{formula.name}Pr"))
    for properties in page.find_all("m:naryPr"):
        if not properties.find("m:chr"):
            properties.insert(0, page.new_tag("m:chr", attrs=_INTEGRAL))
    return str(page).encode()


def _value(element: Tag | None) -> str:
    return str(element.get("w:val", "")) if element else ""


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
    # Word's internal name of the title is the same in every language.
    styles = ["p[style-name='Title'] => h1:fresh"]
    styles += [f"p.{_LEVEL}{level} => h{level}:fresh" for level in range(1, 7)]
    html = mammoth.convert_to_html(
        pre_process_docx(stream), style_map="\n".join(styles)
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


def sheets(markdown: str) -> str:
    """Return converted sheets without cells and rows of nothing; the title of a table stands above
    it, and the row below the title is its header.
    """
    stated = _NO_VALUES.sub("", _NO_VALUE.sub("", markdown))
    return _TITLE_ROW.sub(r"\1\n\n\3\n\2", stated)


def _markitdown() -> ModuleType:
    """Import markitdown's converters without the slow magika that they do not need."""
    sys.modules.setdefault("magika", ModuleType("magika"))
    from markitdown import converters

    return converters  # type: ignore[no-any-return]
