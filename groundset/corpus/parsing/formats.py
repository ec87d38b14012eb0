"""Supported file suffixes and their parsers."""

from pathlib import Path
from typing import Any

from groundset.corpus.parsing.text import Parsed, UnparsableError

MARKDOWN_SUFFIXES = frozenset({".md", ".markdown", ".mdown", ".mkd", ".mdx", ".qmd", ".rmd"})
HTML_SUFFIXES = frozenset({".html", ".htm", ".xhtml"})
PLAIN_SUFFIXES = frozenset({".txt", ".text", ".rst", ".adoc", ".asciidoc", ".org", ".tex", ".log", ""})
OFFICE_SUFFIXES = frozenset({".docx", ".pptx", ".xlsx", ".epub", ".ipynb", ".csv"})
SUFFIXES = MARKDOWN_SUFFIXES | HTML_SUFFIXES | PLAIN_SUFFIXES | OFFICE_SUFFIXES | {".pdf"}
# Limits for the text of one document; later stages use about fifty times its size in memory.
MAX_TEXT_MB = 32
MAX_LINES = 1_000_000


def parse_file(request: dict[str, str]) -> dict[str, Any]:
    """Parse the file ``path`` as a file with the suffix ``suffix``; argument and result are JSON.

    Returns:
        The fields of a :class:`~groundset.corpus.parsing.text.Parsed`, or ``refused``, the reason why the file cannot
        be parsed.
    """
    try:
        text, title, headings, pages, captions = parse(Path(request["path"]).read_bytes(), request["suffix"])
    except UnparsableError as error:
        return {"refused": str(error)}
    except RecursionError:
        return {"refused": "nested too deep"}
    except OSError as error:
        reason = "permission denied" if isinstance(error, PermissionError) else error.strerror or str(error)
        return {"refused": f"unreadable: {reason}"}
    return {
        "text": text,
        "title": title,
        "headings": [heading.model_dump() for heading in headings],
        "pages": [start.model_dump() for start in pages],
        "captions": list(captions),
    }


def parse(data: bytes, suffix: str) -> Parsed:
    """Parse the bytes of a file.

    Raises:
        UnparsableError: the file cannot be parsed.
    """
    if not data.strip():
        raise UnparsableError("empty")
    parsed = _parse(data, suffix)
    _refuse_long(parsed.text)
    return parsed


def _parse(data: bytes, suffix: str) -> Parsed:
    # Imported on demand, because some parsers take a second to import.
    if suffix == ".pdf" or data.startswith(b"%PDF-"):
        from groundset.corpus.parsing.pdf import parse_pdf

        return parse_pdf(data)
    if suffix in OFFICE_SUFFIXES:
        from groundset.corpus.parsing.office import parse_office

        return parse_office(data, suffix)
    if suffix in HTML_SUFFIXES:
        from groundset.corpus.parsing.html import parse_html

        return parse_html(data)
    from groundset.corpus.parsing.text import clean, decode

    text = clean(decode(data))
    _refuse_long(text)
    if suffix in MARKDOWN_SUFFIXES:
        from groundset.corpus.parsing.markdown import parse_markdown

        return parse_markdown(text)
    from groundset.corpus.parsing.plain import parse_plain

    return parse_plain(text)


def _refuse_long(text: str) -> None:
    if len(text) > MAX_TEXT_MB << 20:
        raise UnparsableError(f"its text is longer than {MAX_TEXT_MB} MB")
    if text.count("\n") > MAX_LINES:
        raise UnparsableError(f"its text has more than {MAX_LINES:,} lines")
