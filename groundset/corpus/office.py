"""Office documents, e-books, notebooks and tables: what markitdown converts to Markdown."""

import io
import warnings
import zipfile

from groundset.corpus.archives import check_table, texts_only
from groundset.corpus.bounds import MAX_LINES, refuse_many
from groundset.corpus.html import MARKDOWN_OPTIONS
from groundset.corpus.markdown import parse_markdown
from groundset.corpus.parsed import Parsed, UnparsableError
from groundset.corpus.text import clean, decode

OFFICE_SUFFIXES = frozenset({".docx", ".pptx", ".xlsx", ".epub", ".ipynb", ".csv"})
TEXT_SUFFIXES = frozenset({".ipynb", ".csv"})
# Word's own name of the style, whatever the language of the program.
_TITLE_STYLE = "p[style-name='Title'] => h1:fresh"
_OLE = b"\xd0\xcf\x11\xe0"
_ENCRYPTED = "EncryptedPackage".encode("utf-16-le")


def parse_office(data: bytes, suffix: str) -> Parsed:
    """Parse a document that markitdown knows into Markdown, its title and its headings."""
    if suffix in TEXT_SUFFIXES:
        text = clean(decode(data))
        refuse_many(text.count("\n"), MAX_LINES, "lines")
        if suffix == ".csv":
            check_table(text)
        data = text.encode()
    elif data.startswith(_OLE):
        raise UnparsableError("password-protected" if _ENCRYPTED in data else "not a file of the format of its name")
    elif not zipfile.is_zipfile(io.BytesIO(data)):
        raise UnparsableError(f"damaged {suffix[1:]} file")
    return parse_markdown(clean(_convert(data, suffix)))


def _convert(data: bytes, suffix: str) -> str:
    # markitdown takes half a second to import; only documents that need it wait for it. Its converters are
    # called directly: its front door would load a model to guess the format, and plugins.
    from markitdown import MissingDependencyException, StreamInfo, converters

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
                data = texts_only(data)
            result = converter().convert(io.BytesIO(data), StreamInfo(extension=suffix, charset="utf-8"), **options)
        except MissingDependencyException:
            raise UnparsableError(f"needs pip install 'markitdown[{suffix[1:]}]'") from None
        except (UnparsableError, MemoryError, RecursionError):
            raise
        except Exception as error:
            # A damaged file fails anywhere in foreign parsers, with any exception.
            raise UnparsableError(f"damaged {suffix[1:]} file ({type(error).__name__})") from error
    return str(result.markdown or "")
