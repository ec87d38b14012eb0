"""File formats: bytes to text, title, headings, pages and captions, by the parser of a suffix."""

from importlib import import_module

from groundset.corpus.parsing.text import Parsed, UnparsableError, clean, decode

_KINDS = {
    "markdown": ".md .markdown .mdown .mkd .mdx .qmd .rmd",
    "html": ".html .htm .xhtml",
    "plain": ".txt .text .rst .adoc .asciidoc .org .tex .log",
    "office": ".docx .pptx .xlsx .epub .ipynb .csv",
    "pdf": ".pdf",
}
SUFFIXES = {suffix: kind for kind, suffixes in _KINDS.items() for suffix in suffixes.split()} | {"": "plain"}
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
    kind = "pdf" if data.startswith(b"%PDF-") else SUFFIXES[suffix]
    module = import_module(f"groundset.corpus.parsing.{kind}")  # on demand: some parsers take a second to import
    parser = getattr(module, f"parse_{kind}")
    content = clean(decode(data)) if kind in ("markdown", "plain") else data
    if isinstance(content, str):
        _refuse_long(content)
    parsed: Parsed = parser(content, suffix) if kind == "office" else parser(content)
    _refuse_long(parsed.text)
    return parsed


def _refuse_long(text: str) -> None:
    if len(text) > MAX_TEXT_MB << 20:
        raise UnparsableError(f"its text is longer than {MAX_TEXT_MB} MB")
    if text.count("\n") > MAX_LINES:
        raise UnparsableError(f"its text has more than {MAX_LINES:,} lines")
