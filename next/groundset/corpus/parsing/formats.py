"""Supported file suffixes and their parsers."""

from groundset.corpus.parsing.text import Parsed, UnparsableError, clean, decode

_MARKDOWN = frozenset({".md", ".markdown", ".mdown", ".mkd", ".mdx", ".qmd", ".rmd"})
_HTML = frozenset({".html", ".htm", ".xhtml"})
_PLAIN = frozenset({".txt", ".text", ".rst", ".adoc", ".asciidoc", ".org", ".tex", ".log", ""})
_OFFICE = frozenset({".docx", ".pptx", ".xlsx", ".epub", ".ipynb", ".csv"})
SUFFIXES = _MARKDOWN | _HTML | _PLAIN | _OFFICE | {".pdf"}
# Limits for the text of one document; cutting it takes about fifty times its size in memory.
MAX_TEXT_MB = 16
MAX_LINES = 500_000


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
    if suffix in _OFFICE:
        from groundset.corpus.parsing.office import parse_office

        return parse_office(data, suffix)
    if suffix in _HTML:
        from groundset.corpus.parsing.html import parse_html

        return parse_html(data)
    text = clean(decode(data))
    _refuse_long(text)
    if suffix in _MARKDOWN:
        from groundset.corpus.parsing.markdown import parse_markdown

        return parse_markdown(text)
    from groundset.corpus.parsing.plain import parse_plain

    return parse_plain(text)


def _refuse_long(text: str) -> None:
    if len(text) > MAX_TEXT_MB << 20:
        raise UnparsableError(f"its text is longer than {MAX_TEXT_MB} MB")
    if text.count("\n") > MAX_LINES:
        raise UnparsableError(f"its text has more than {MAX_LINES:,} lines")
