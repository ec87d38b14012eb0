"""Convert Word documents, slides, spreadsheets, e-books and files of records to Markdown."""

import io
import re
import sys
import zipfile
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import PurePosixPath
from types import ModuleType
from typing import Any
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from bs4 import BeautifulSoup

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
    ".org": partial(records.outline, sign="*"),
    **dict.fromkeys((".adoc", ".asciidoc"), partial(records.outline, sign="=")),
}
_RECORDS = frozenset({".csv", ".tsv", ".json", ".jsonl"})
_PAGES = frozenset({".html", ".htm", ".xhtml"})
_TEXTS = _PAGES | frozenset({"", ".xml", ".rels", ".vml", ".opf", ".ncx"})
_NAMESPACES = {
    "w": "http://schemas.openxmlformats.org/wordprocessingml/2006/main",
    "m": "http://schemas.openxmlformats.org/officeDocument/2006/math",
    "mc": "http://schemas.openxmlformats.org/markup-compatibility/2006",
    "v": "urn:schemas-microsoft-com:vml",
    "r": "http://schemas.openxmlformats.org/officeDocument/2006/relationships",
    "a": "http://schemas.openxmlformats.org/drawingml/2006/main",
    "pic": "http://schemas.openxmlformats.org/drawingml/2006/picture",
    "wp": "http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing",
}
_BODY = 9  # the outline level of text
_RAISED = 4  # half points; as much is another way to write an exponent or an index
# What markitdown fails without.
_PROPERTIES = ("f", "acc", "bar", "d", "groupChr")
_LEVEL = "outline"  # our style of a heading, before its level
_NAMED = re.compile(r"heading ([1-9])", re.IGNORECASE)  # Word's internal name
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


def _outline_levels(styles: bytes) -> dict[str | None, int]:
    """Return the level of each style of paragraphs that is an outline level, or based on such a
    style.
    """
    found = {
        style.get(_name("w:styleId")): style
        for style in (ElementTree.fromstring(styles) if styles else ())
        if style.tag == _name("w:style")
    }

    def level(style: Element | None, depth: int = 0) -> int | None:
        if style is None or depth > len(found):
            return None
        own = _value(style, "w:pPr/w:outlineLvl")
        named = _NAMED.fullmatch(_value(style, "w:name") or "")
        if own or named:
            return int(own) if own else int(named[1]) - 1 if named else None
        return level(found.get(_value(style, "w:basedOn")), depth + 1)

    levels = {name: level(style) for name, style in found.items()}
    return {name: each for name, each in levels.items() if each is not None}


def _readable(content: bytes, levels: Mapping[str | None, int]) -> bytes:
    """Return a part of a Word document with headings by their outline levels, text boxes without a
    fallback, raised text and formulas as the libraries read them.
    """
    for prefix, address in _NAMESPACES.items():
        ElementTree.register_namespace(prefix, address)
    root = ElementTree.fromstring(content)
    for paragraph in root.iter(_name("w:p")):
        own = _value(paragraph, "w:pPr/w:outlineLvl")
        style = paragraph.find("w:pPr/w:pStyle", _NAMESPACES)
        named = levels.get(style.get(_name("w:val"))) if style is not None else None
        level = int(own) if own else named
        if level is not None and level < _BODY:
            properties = paragraph.find("w:pPr", _NAMESPACES)
            if style is None and properties is not None:
                style = ElementTree.Element(_name("w:pStyle"))
                properties.insert(0, style)
            if style is not None:
                style.set(_name("w:val"), f"{_LEVEL}{min(level + 1, 6)}")
    for parent in list(root.iter()):
        for place, child in enumerate(parent):
            if child.tag == _name("mc:AlternateContent"):
                boxes = child.iterfind(
                    f"mc:Choice//{{*}}txbx/{_name('w:txbxContent')}", _NAMESPACES
                )
                if child.find("mc:Fallback//w:txbxContent", _NAMESPACES) is None:
                    parent[place] = _shape(boxes, child)
            elif child.tag == _name("w:drawing"):
                parent[place] = _shape(
                    child.iterfind(f".//{{*}}txbx/{_name('w:txbxContent')}"), child
                )
    for position in root.iter(_name("w:position")):
        height = float(position.get(_name("w:val")) or 0)
        if abs(height) >= _RAISED:
            position.tag = _name("w:vertAlign")
            position.set(_name("w:val"), "superscript" if height > 0 else "subscript")
    for name in _PROPERTIES:
        for part in root.iter(_name(f"m:{name}")):
            if part.find(f"m:{name}Pr", _NAMESPACES) is None:
                part.insert(0, ElementTree.Element(_name(f"m:{name}Pr")))
    for properties in root.iter(_name("m:naryPr")):
        if properties.find("m:chr", _NAMESPACES) is None:  # markitdown knows no default
            properties.insert(0, ElementTree.Element(_name("m:chr"), {_name("m:val"): "∫"}))
    return ElementTree.tostring(root, "utf-8")


def _shape(boxes: Iterable[Element], otherwise: Element) -> Element:
    """Return a shape of older documents, as mammoth reads them, with the text of boxes."""
    shape = ElementTree.Element(_name("w:pict"))
    for box in boxes:
        ElementTree.SubElement(shape, _name("v:textbox")).append(box)
    return shape if len(shape) else otherwise


def _name(name: str) -> str:
    prefix, _, local = name.partition(":")
    return f"{{{_NAMESPACES[prefix]}}}{local}"


def _value(element: Element, path: str) -> str | None:
    found = element.find(path, _NAMESPACES)
    return None if found is None else found.get(_name("w:val"))


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


def _markitdown() -> ModuleType:
    """Import markitdown's converters without the slow magika that they do not need."""
    sys.modules.setdefault("magika", ModuleType("magika"))
    from markitdown import converters

    return converters  # type: ignore[no-any-return]
