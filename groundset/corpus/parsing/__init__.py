"""File formats: decoded, cleaned, and parsed to text, title, headings, pages and captions by the parser of a suffix."""

import re
import unicodedata
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from typing import NamedTuple

from charset_normalizer import from_bytes

from programs.types import Heading, PageStart

_KINDS = {
    "markdown": ".md .markdown .mdown .mkd .mdx .qmd .rmd",
    "html": ".html .htm .xhtml",
    "plain": ".txt .text .rst .adoc .asciidoc .log",
    "office": ".docx .pptx .xlsx .epub .ipynb .csv .tsv .eml",
    "pdf": ".pdf",
}
SUFFIXES = {suffix: kind for kind, suffixes in _KINDS.items() for suffix in suffixes.split()} | {"": "plain"}
# Limits for the text of one document; cutting it takes about fifty times its size in memory.
MAX_TEXT_MB = 16
MAX_LINES = 500_000


class Parsed(NamedTuple):
    """A parsed document.

    Attributes:
        text: all of it.
        title: None without one.
        headings: in order.
        pages: where they start, if it has pages.
        captions: the paragraphs that its format marks as captions.
        note: what the user should know about it.
        left_out: what of it is not in the text, and where it stood.
    """

    text: str
    title: str | None
    headings: Sequence[Heading]
    pages: Sequence[PageStart] = ()
    captions: Sequence[str] = ()
    note: str = ""
    left_out: Sequence[str] = ()


RAISED = str.maketrans("0123456789+-−n", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻ⁿ")
LOWERED = str.maketrans("0123456789+-−", "₀₁₂₃₄₅₆₇₈₉₊₋₋")


class UnparsableError(Exception):
    """A file cannot be parsed; the message is the reason, without the file name."""


# Common encodings, the most common first. With the detector's full list, short Western texts are mistaken for
# mainframe and DOS code pages.
_CANDIDATES = [*(f"cp125{n}" for n in (2, 0, 1, 3, 4, 5, 6)), "iso8859_2", "iso8859_15", "koi8_r"]
_CANDIDATES += ["cp932", "euc_jp", "gb18030", "big5", "cp949"]  # Windows' supersets of shift_jis and euc_kr
_ESCAPED = re.compile("[\udc80-\udcff]")  # a byte that is not UTF-8
# What is raised behind a year is the mark of a note where texts have a first one, else an exponent.
_FIRST_NOTE = re.compile("(?<![⁰¹²³⁴-⁹⁺⁻])¹(?![⁰¹²³⁴-⁹])")
_NOTE = re.compile(r"(?<![\d.,])((?:1[5-9]|20)\d\d)([⁰¹²³⁴-⁹]+)")
_LINE_ENDS = re.compile(r"\r\n?|[\x0b\x0c\x85\u2028\u2029]")
# Matches only from the first space of a run; starting at each space would take quadratic time.
_TRAILING_SPACE = re.compile(r"(?<![^\S\n])[^\S\n]+$", re.MULTILINE)
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_SURROGATE = re.compile(r"[\ud800-\udfff]")
# Invisible characters that break text search (soft hyphen, zero-width space, byte-order mark), ligatures, hard spaces.
_TABLE = dict.fromkeys(map(ord, "\u00ad\u200b\ufeff")) | {0xA0: " ", 0x202F: " "}
_TABLE |= {0xFB00 + n: text for n, text in enumerate(("ff", "fi", "fl", "ffi", "ffl", "st", "st"))}
_SAMPLE = 1 << 16
_MAX_JUNK = 0.02


def decode(data: bytes, declared: str | None = None) -> str:
    """Decode the bytes of a text file, detecting the encoding.

    Raises:
        UnparsableError: they are no text.
    """
    if data.startswith((b"\xff\xfe", b"\xfe\xff", b"\0\0\xfe\xff")):
        is_32 = data[2:4] == b"\0\0" or data[:2] == b"\0\0"
        return _decode_as(data, "utf-32" if is_32 else "utf-16")
    if b"\x00" in data[:_SAMPLE]:
        raise UnparsableError("binary")
    for likely in filter(None, ("utf-8-sig", declared)):
        with suppress(UnicodeError, LookupError):  # a page may declare any codec
            return data.decode(likely)
    escaped = data.decode("utf-8", "surrogateescape")
    strays = len(_ESCAPED.findall(escaped))
    if sum(character > "\x7f" for character in escaped) >= 2 * strays:
        # UTF-8 with a few bytes from elsewhere, most likely from Windows.
        return _ESCAPED.sub(lambda found: bytes([ord(found[0]) & 0xFF]).decode("cp1252", "replace"), escaped)
    matches = from_bytes(data, cp_isolation=_CANDIDATES)
    best = matches.best()
    if best is None:
        raise UnparsableError("binary or in an unknown encoding")
    # Short texts fit several code pages equally well; prefer the most common one.
    ties = [match for match in matches if (match.chaos, match.coherence) == (best.chaos, best.coherence)]
    return _decode_as(data, min(ties, key=lambda match: _CANDIDATES.index(match.encoding)).encoding)


def clean(text: str) -> str:
    """Normalise newlines and drop control characters.

    Raises:
        UnparsableError: it has too many of them.
    """
    kinds = ((each, unicodedata.category(each)) for each in text[:_SAMPLE])
    junk = sum(each == "\ufffd" or (kind == "Cc" and not each.isspace()) for each, kind in kinds)
    if junk > _MAX_JUNK * min(len(text), _SAMPLE):
        raise UnparsableError("binary")
    text = _CONTROL.sub("", _LINE_ENDS.sub("\n", text).translate(_TABLE))
    if _FIRST_NOTE.search(text):
        text = _NOTE.sub(lambda found: f"{found[1]} [{unicodedata.normalize('NFKC', found[2])}]", text)
    # Lone surrogates cannot be encoded as UTF-8.
    return _TRAILING_SPACE.sub("", _SURROGATE.sub("?", text)).strip("\n")


def file_stem(path: str) -> str:
    r"""Return the name of a file without its folders, also those of Windows (``C:\docs``), and its suffix."""
    return re.sub(r"(?<=.)\.\w*$", "", re.split(r"[/\\]", path)[-1])


def name_title(path: str) -> str:
    """Derive a title from a file name."""
    stem = file_stem(path)
    return " ".join(re.sub(r"[_\-.]+", " ", stem).split()) or stem


def _decode_as(data: bytes, encoding: str) -> str:
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        raise UnparsableError(f"damaged {encoding} text") from error


def parse(data: bytes, suffix: str) -> Parsed:
    """Parse the bytes of a file.

    Raises:
        UnparsableError: the file cannot be parsed.
    """
    if not data.strip():
        raise UnparsableError("empty")
    kind = "pdf" if data.startswith(b"%PDF-") else SUFFIXES[suffix]
    parser = getattr(import_module(f"groundset.corpus.parsing.{kind}"), f"parse_{kind}")  # some take a second
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
