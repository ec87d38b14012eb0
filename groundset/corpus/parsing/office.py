"""Convert Word documents, slides, spreadsheets, e-books, notebooks, e-mails and tables of values to Markdown."""

import csv
import io
import re
import sys
import zipfile
from email import message_from_bytes, policy
from itertools import islice
from pathlib import PurePosixPath
from types import ModuleType
from typing import Any

from bs4 import BeautifulSoup

from groundset.corpus.parsing import Parsed, UnparsableError, clean, decode
from groundset.corpus.parsing.html import MARKDOWN_OPTIONS, parse_html, to_markdown
from groundset.corpus.parsing.markdown import parse_markdown, table_of

_TITLE_STYLE = "p[style-name='Title'] => h1:fresh"  # Word's internal name, the same in every language
_SNIFFED = 20  # rows of a table of values
_OLE = b"\xd0\xcf\x11\xe0"
_ENCRYPTED = "EncryptedPackage".encode("utf-16-le")
_TEXTS = frozenset({"", ".xml", ".rels", ".vml", ".opf", ".ncx", ".html", ".htm", ".xhtml"})
_INTEGRAL = '<m:naryPr><m:chr m:val="∫"/>'.encode()  # the sign unless another one follows; markitdown knows no default
_BARE = re.compile(rb"<m:(f|acc|bar|d|groupChr)>(?!<m:\1Pr)")  # markitdown fails for these without properties
_DOCUMENT_TYPE = re.compile(rb"<\0*!\0*D\0*O\0*C\0*T\0*Y\0*P\0*E")  # in UTF-8 and UTF-16


def parse_office(data: bytes, suffix: str) -> Parsed:
    """Parse a document into Markdown, its title and its headings.

    Raises:
        UnparsableError: it is damaged or encrypted, or the package for its format is missing.
    """
    captions: list[str] = []
    try:
        if suffix in (".csv", ".tsv"):
            markdown = _table(clean(decode(data)))
        elif suffix == ".eml":
            markdown = _mail(data)
        elif suffix == ".docx":
            markdown, captions = _word(_texts_only(data, suffix))
        else:
            stream = io.BytesIO(clean(decode(data)).encode()) if suffix == ".ipynb" else _texts_only(data, suffix)
            markdown = _converted(stream, suffix)
    except (UnparsableError, MemoryError, RecursionError):
        raise
    except Exception as error:
        # Third-party parsers raise arbitrary exceptions for damaged files.
        if type(error).__name__ == "MissingDependencyException":
            raise UnparsableError(f"needs pip install 'markitdown[{suffix[1:]}]'") from None
        raise UnparsableError(f"damaged {suffix[1:]} file ({type(error).__name__})") from error
    return parse_markdown(clean(markdown))._replace(captions=captions)


def _texts_only(data: bytes, suffix: str) -> io.BytesIO:
    """Return an archive with its pictures, fonts and embedded files emptied.

    Raises:
        UnparsableError: it is no archive; or an office document declares a document type, which ECMA-376 part 2
            forbids: without one it cannot declare entities that expand to gigabytes.
    """
    if data.startswith(_OLE):
        raise UnparsableError("password-protected" if _ENCRYPTED in data else "not a file of the format of its name")
    slim = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as archive, zipfile.ZipFile(slim, "w") as copy:
        for entry in archive.infolist():
            kind = PurePosixPath(entry.filename).suffix.lower()
            content = archive.read(entry) if kind in _TEXTS else b""
            content = _BARE.sub(rb"<m:\1><m:\1Pr></m:\1Pr>", content).replace(b"<m:naryPr>", _INTEGRAL)
            if suffix != ".epub" and _DOCUMENT_TYPE.search(content):
                raise UnparsableError("declares an XML document type")
            copy.writestr(entry.filename, content)
    return slim


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
    oMath2Latex.tag2meth |= dict.fromkeys(("sPre", "borderBox", "phant"), oMath2Latex.process_children)
    html = mammoth.convert_to_html(pre_process_docx(stream), style_map=_TITLE_STYLE).value  # formulas become LaTeX
    return to_markdown(BeautifulSoup(html, "html.parser"))


def _converted(stream: io.BytesIO, suffix: str) -> str:
    converters = _markitdown()
    from markitdown import StreamInfo

    converter = getattr(converters, f"{suffix[1:].title()}Converter")()
    return str(converter.convert(stream, StreamInfo(extension=suffix, charset="utf-8"), **MARKDOWN_OPTIONS).markdown)


def _markitdown() -> ModuleType:
    """Import markitdown's converters without the slow magika that they do not need."""
    sys.modules.setdefault("magika", ModuleType("magika"))
    from markitdown import converters

    return converters  # type: ignore[no-any-return]


def _table(text: str) -> str:
    """Return a table of values in Markdown, with the separator that gives most rows the same number of cells."""
    csv.field_size_limit(max(csv.field_size_limit(), len(text) + 1))

    def even_rows(separator: str) -> int:
        widths = [len(row) for row in islice(csv.reader(io.StringIO(text), delimiter=separator), _SNIFFED)]
        return max((widths.count(width) for width in widths if width > 1), default=0)

    rows = csv.reader(io.StringIO(text), delimiter=max("\t,;|", key=even_rows))
    return table_of([[" ".join(cell.split()) for cell in row] for row in rows if row])


def _mail(data: bytes) -> str:
    """Return the subject, the heads and the text of an e-mail, and the names of its attachments."""
    message = message_from_bytes(data, policy=policy.default)
    heads = [f"{name}: {message[name]}" for name in ("From", "To", "Date") if message[name]]
    heads += [f"Attachment (not read): {part.get_filename() or 'unnamed'}" for part in message.iter_attachments()]
    body = message.get_body(("plain", "html"))
    text = decode(bytes(body.get_payload(decode=True)), body.get_content_charset()) if body else ""
    text = parse_html(text.encode()).text if body and body.get_content_subtype() == "html" else text
    return "\n\n".join([f"# {' '.join(str(message['Subject'] or 'E-mail').split())}", "\n".join(heads), text])
