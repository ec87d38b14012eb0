"""Convert office documents, e-books, notebooks and tables to Markdown with markitdown."""

import io
import warnings
import zipfile
from contextlib import suppress
from pathlib import PurePosixPath
from xml.parsers.expat import ExpatError, ParserCreate

from groundset.corpus.parsing.html import MARKDOWN_OPTIONS, markitdown_converters
from groundset.corpus.parsing.markdown import parse_markdown
from groundset.corpus.parsing.text import Parsed, UnparsableError, clean, decode

TEXT_SUFFIXES = frozenset({".ipynb", ".csv"})
# Word's internal style name is the same in every language.
_TITLE_STYLE = "p[style-name='Title'] => h1:fresh"
_OLE = b"\xd0\xcf\x11\xe0"
_ENCRYPTED = "EncryptedPackage".encode("utf-16-le")
_XML = frozenset({"", ".xml", ".rels", ".vml"})
_PAGES = frozenset({".opf", ".ncx", ".html", ".htm", ".xhtml"})


def parse_office(data: bytes, suffix: str) -> Parsed:
    """Parse a document into Markdown, its title and its headings."""
    if suffix in TEXT_SUFFIXES:
        data = clean(decode(data)).encode()
    elif data.startswith(_OLE):
        raise UnparsableError("password-protected" if _ENCRYPTED in data else "not a file of the format of its name")
    elif not zipfile.is_zipfile(io.BytesIO(data)):
        raise UnparsableError(f"damaged {suffix[1:]} file")
    return parse_markdown(clean(_convert(data, suffix)))


def _convert(data: bytes, suffix: str) -> str:
    converters = markitdown_converters()
    from markitdown import MissingDependencyException, StreamInfo

    converter = {
        ".docx": converters.DocxConverter,
        ".pptx": converters.PptxConverter,
        ".xlsx": converters.XlsxConverter,
        ".epub": converters.EpubConverter,
        ".ipynb": converters.IpynbConverter,
        ".csv": converters.CsvConverter,
    }[suffix]
    options = MARKDOWN_OPTIONS | ({"style_map": _TITLE_STYLE} if suffix == ".docx" else {})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            if suffix not in TEXT_SUFFIXES:
                data = _texts_only(data, is_office=suffix != ".epub")
            result = converter().convert(io.BytesIO(data), StreamInfo(extension=suffix, charset="utf-8"), **options)
        except MissingDependencyException:
            raise UnparsableError(f"needs pip install 'markitdown[{suffix[1:]}]'") from None
        except (UnparsableError, MemoryError, RecursionError):
            raise
        except Exception as error:
            # Third-party parsers raise arbitrary exceptions for damaged files.
            raise UnparsableError(f"damaged {suffix[1:]} file ({type(error).__name__})") from error
    return str(result.markdown or "")


def _texts_only(data: bytes, *, is_office: bool) -> bytes:
    """Return an archive with its pictures, fonts and embedded files emptied.

    Raises:
        UnparsableError: an office document declares a document type, which ECMA-376 part 2 forbids; without one it
            cannot declare entities that expand to gigabytes.
        Exception: the archive is damaged; anything that ``zipfile`` raises.
    """
    slim = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as archive, zipfile.ZipFile(slim, "w") as copy:
        for entry in archive.infolist():
            suffix = PurePosixPath(entry.filename).suffix.lower()
            content = archive.read(entry) if suffix in _XML | _PAGES else b""
            if is_office and suffix in _XML:
                _refuse_document_type(content)
            copy.writestr(entry.filename, content)
    return slim.getvalue()


def _refuse_document_type(xml: bytes) -> None:
    """Raise an ``UnparsableError`` for a part with a ``DOCTYPE``, which can only stand before the first element."""

    def refuse(*_: object) -> None:
        raise UnparsableError("declares an XML document type")

    def stop(*_: object) -> None:
        raise StopIteration

    parser = ParserCreate()
    parser.StartDoctypeDeclHandler = refuse
    parser.StartElementHandler = stop
    # The converter reports invalid XML.
    with suppress(StopIteration, ExpatError):
        parser.Parse(xml)
