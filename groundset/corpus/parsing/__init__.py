"""File formats: decoded, cleaned, and parsed to text, title, headings, pages and captions by the
parser of a suffix.
"""

import codecs
import re
import unicodedata
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from itertools import chain, islice
from pathlib import PurePosixPath
from textwrap import shorten
from typing import NamedTuple

from groundset.programs.text import composed, one_line
from groundset.programs.types import Heading, PageStart
from groundset.programs.words import word_list

_KINDS = {
    "markdown": ".md .markdown .mdown .mkd .mdx .qmd .rmd",
    "html": ".html .htm .xhtml",
    "plain": ".txt .text .log",
    "office": ".docx .pptx .xlsx .epub .ipynb .csv .tsv .json .jsonl .eml",
    "pandoc": ".rst .org .adoc .asciidoc .odt .rtf",
    "pdf": ".pdf",
}
SUFFIXES = {suffix: kind for kind, suffixes in _KINDS.items() for suffix in suffixes.split()} | {
    "": "plain"
}
_TEMPLATE = ".erb"
_TEMPLATE_CODE = re.compile(rb"^[ \t]*<%(?!%).{0,9999}?%>[ \t]*\n|<%(?!%).{0,9999}?%>", re.S | re.M)
# Limits for the text of one document; cutting it takes about fifty times its size in memory.
MAX_TEXT_MB = 16
MAX_LINES = 500_000
_MAX_NAMED = 60  # characters of a text that is left out
_MAX_TITLE = 80  # characters of a line that serves as a title
_LETTERS = re.compile(r"[^\W\d_]+")
_OF_ANY = word_list(
    "topic topics technote technotes note notes doc docs document documents file page pages readme"
    " index untitled contents overview introduction general draft final version scan home info"
    " dokument übersicht einleitung notiz notizen sommaire aperçu introducción resumen notas"
)


class Parsed(NamedTuple):
    """A parsed document."""

    text: str
    title: str | None
    headings: Sequence[Heading]  # in order
    pages: Sequence[PageStart] = ()  # if it has pages
    captions: Sequence[str] = ()  # the paragraphs that its format marks as captions
    note: str = ""  # what the user should know about it
    left_out: Sequence[str] = ()  # what of it is not in the text, and where it stood


# What is raised behind a year is the mark of a note where texts have a first one, else an exponent.
_FIRST_NOTE = re.compile("(?<![⁰¹²³⁴-⁹⁺⁻])¹(?![⁰¹²³⁴-⁹])")
_NOTE = re.compile(r"(?<![\d.,])((?:1[5-9]|20)\d\d)([⁰¹²³⁴-⁹]+)")
RAISED = str.maketrans("0123456789+-−n", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻ⁿ")
LOWERED = str.maketrans("0123456789+-−", "₀₁₂₃₄₅₆₇₈₉₊₋₋")


class UnparsableError(Exception):
    """A file cannot be parsed; the message is the reason, without the file name."""


def _common(codec: str, first: int, last: int) -> str:
    """Return the ideographs that an encoding lists first, the common ones; in a wrong encoding,
    others are as many.
    """
    codes = (bytes([lead, trail]) for lead in range(first, last + 1) for trail in range(0x40, 0xFF))
    return "".join(
        shown
        for code in codes
        if len(shown := code.decode(codec, "ignore")) == 1 and shown > "\x7f"
    )


# The letters of languages beside ASCII, and the encodings in which their texts are found, the most
# common first. Detectors take short texts, MacRoman, and texts with a stray byte for something
# else.
_WESTERN, _CENTRAL = "cp1252 iso8859_15 mac_roman cp850", "cp1250 iso8859_2 cp852"
_NEC_SIGNS = "①-⑳Ⅰ-Ⅹ㈱㈲㈹№℡㊤-㊨㌀-㍗㎎㎏㎜-㎞㎡㏄㏍"
_ENCODINGS = {
    "äöüßåæøéèàáõšž": _WESTERN,
    "àâæçéèêëîïôœùûüÿ": _WESTERN,
    "áéíóúñüìòàèùâêôãõç¿¡ªº": _WESTERN,
    "ąćęłńóśźż": _CENTRAL,
    "áčďéěíňóřšťúůýžäôľĺŕćđ": _CENTRAL,
    "áéíóöőúüűăâîşţ": _CENTRAL,
    "çğıöşüâîİ": "cp1254",
    "āčēģīķļņšūžąęėįųõäöü": "cp1257",
    "א-ת": "cp1255",
    "а-яёіїєґўј№": "cp1251 koi8_r cp866",
    "α-ωάέήίόύώϊϋΐΰ": "cp1253",
    "؀-ۿ": "cp1256",
    "가-힣": "cp949",
    f"ぁ-んァ-ヶ々{_NEC_SIGNS}{_common('euc_jp', 0xB0, 0xCF)}": "cp932 euc_jp",
    _common("gb2312", 0xB0, 0xD7): "gb18030",
    _common("big5", 0xA4, 0xC6): "big5",
    "ก-๛": "cp874",
}
_SIGNS = "“”„‘‚–—…€£°§«»·²³½±×®©™•\xa0、。，「」『』（）：；！？・ー％"
# of the characters beside ASCII; of random bytes, 0.75 can seem so, but they have control
# characters
_LIKELY = 0.7
# What pages that declare an encoding are written in, by the WHATWG's Encoding Standard.
_MEANT = {"iso8859-1": "cp1252", "ascii": "cp1252", "iso8859-9": "cp1254", "tis-620": "cp874"}
_MEANT |= {"shift_jis": "cp932", "euc_kr": "cp949", "gb2312": "gb18030", "gbk": "gb18030"}
_FOREIGN = re.compile(rb"[!-~]{0,9}[\x80-\xff]\S*")  # words of other letters than ASCII
_ESCAPED = re.compile("[\udc80-\udcff]+")  # bytes that are not UTF-8
_LINE_ENDS = re.compile(r"\r\n?|[\x0b\x0c\x85\u2028\u2029]")
# Matches only from the first space of a run; starting at each space would take quadratic time.
_TRAILING_SPACE = re.compile(r"(?<![^\S\n])[^\S\n]+$", re.MULTILINE)
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_JUNK = re.compile("[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\ufffd]")
_SURROGATE = re.compile(r"[\ud800-\udfff]")
# Invisible characters that break text search (soft hyphen, zero-width space, byte-order mark),
# ligatures, hard spaces.
_TABLE = dict.fromkeys(map(ord, "\u00ad\u200b\ufeff")) | {0xA0: " ", 0x202F: " "}
_TABLE |= {0xFB00 + n: text for n, text in enumerate(("ff", "fi", "fl", "ffi", "ffl", "st", "st"))}
_SAMPLE = 1 << 16
_MAX_JUNK = 0.02
_MAX_NULLS = (
    0.2  # UTF-16 without a mark has nearly as many as letters, all in the odd or the even places
)


def decode(data: bytes, declared: str | None = None) -> str:
    """Decode the bytes of a text file, detecting the encoding; bytes that are not of it do not
    change it.

    Raises:
        UnparsableError: they are no text.
    """
    start = data[:_SAMPLE]
    if start.startswith((b"\xff\xfe", b"\xfe\xff", b"\0\0\xfe\xff")):
        return data.decode("utf-32" if b"\0\0" in start[:4] else "utf-16", "replace")
    for offset, encoding in enumerate(("utf-16-be", "utf-16-le")):
        if start[offset::2].count(0) > _MAX_NULLS * len(start) > start[1 - offset :: 2].count(0):
            return data.decode(encoding, "replace")
    if start.count(0) > _MAX_JUNK * len(start):
        raise UnparsableError("binary")
    for likely in ("iso2022_jp" if b"\x1b$" in start else "utf-8-sig", declared or "utf-8-sig"):
        with suppress(UnicodeError, LookupError):  # a page may declare any codec
            name = codecs.lookup(likely).name
            return data.decode(_MEANT.get(name, name))
    escaped = data.decode("utf-8", "surrogateescape")
    strays = sum(map(len, _ESCAPED.findall(escaped)))
    if sum(character > "\x7f" for character in escaped) >= 2 * strays:
        # UTF-8 with a few bytes from elsewhere, most likely from Windows; several in a row are a
        # letter cut in two.
        return _ESCAPED.sub(_stray, escaped)
    return data.decode(_detected(data), "replace")


def _stray(escaped: re.Match[str]) -> str:
    data = escaped[0].encode(errors="surrogateescape")
    return data.decode("cp1252", "replace") if len(data) == 1 else "\ufffd"


def _detected(data: bytes) -> str:
    """Return the encoding in which most letters beside ASCII are those of one language.

    Raises:
        UnparsableError: there is none.
    """
    words = islice(_FOREIGN.finditer(data), _SAMPLE >> 4)
    sample = b" ".join(found[0] for found in words)[: _SAMPLE >> 2]
    shares: dict[str, float] = {}
    for letters, encodings in _ENCODINGS.items():
        # Where they can stand: capitals begin words, and no Cyrillic letter stands in a Latin one.
        capitals = "".join(each for each in letters.upper() if each == "-" or not each.isascii())
        letter = (
            f"[{letters}]" if letters[0] < "\u0250" else f"(?<![a-zA-Z])[{letters}](?![a-zA-Z])"
        )
        signs = f"’|(?<![a-z])[{_SIGNS}]|[{_SIGNS}](?![a-z])"
        pattern = re.compile(f"{letter}|(?<![a-z{letters}])[{capitals}]|{signs}")
        for encoding in encodings.split():
            text = sample.decode(encoding, "replace")
            known, foreign = (
                sum(not each.isascii() for each in found) for found in (pattern.findall(text), text)
            )
            shares[encoding] = max(shares.get(encoding, 0), known / foreign)
    best = max(shares, key=lambda encoding: shares[encoding])
    if shares[best] < _LIKELY:
        raise UnparsableError("binary or in an unknown encoding; save it as UTF-8")
    return best


def clean(text: str) -> str:
    """Normalise newlines and letters with marks, and drop control characters.

    Raises:
        UnparsableError: it has too many of them.
    """
    sample = text[:_SAMPLE]
    if len(_JUNK.findall(sample)) > _MAX_JUNK * len(sample):
        raise UnparsableError("binary")
    text = composed(_CONTROL.sub("", _LINE_ENDS.sub("\n", text).translate(_TABLE)))
    if _FIRST_NOTE.search(text):
        text = _NOTE.sub(
            lambda found: f"{found[1]} [{unicodedata.normalize('NFKC', found[2])}]", text
        )
    # Lone surrogates cannot be encoded as UTF-8.
    return _TRAILING_SPACE.sub("", _SURROGATE.sub("?", text)).strip("\n")


def file_stem(path: str) -> str:
    r"""Return the name of a file without its folders, also those of Windows (``C:\docs``), and its
    suffix.
    """
    return re.sub(r"(?<=.)\.\w*$", "", re.split(r"[/\\]", path)[-1])


def suffix_of(path: str) -> str:
    """Return the suffix of a file; that of a template with what it makes, by default HTML."""
    *_, inner, suffix = ["", "", *(each.lower() for each in PurePosixPath(path).suffixes)]
    if suffix != _TEMPLATE:
        return suffix
    return f"{inner if inner in SUFFIXES and inner else '.html'}{suffix}"


def name_title(path: str) -> str:
    """Derive a title from a file name."""
    stem = file_stem(path)
    return one_line(re.sub(r"[_\-.]+", " ", stem)) or stem


def telling_title(title: str, parsed: Parsed) -> str:
    """Return a title that says what a document is about: one of words that any document may have is
    followed by the first heading or line that says more.
    """
    if _tells(title):
        return title
    lines = (line for line in parsed.text.splitlines() if not line.startswith("|"))
    first = next(filter(_tells, chain((each.text for each in parsed.headings), lines)), "")
    shown = shorten(first.lstrip("#>*- "), _MAX_TITLE, placeholder=" …")
    return ": ".join(filter(None, (title, shown)))


def _tells(text: str) -> bool:
    words = _LETTERS.findall(text.casefold())
    return any(len(word) > 1 and word not in _OF_ANY for word in words)


def left_out_line(name: str, texts: Sequence[str]) -> str:
    """Return a line about texts that are left out; empty if they are."""
    text = shorten(" ".join(texts), _MAX_NAMED, placeholder=" …")
    return f"{name}{f' ({len(texts)})' if len(texts) > 1 else ''}: {text}" if text else ""


def parse(data: bytes, suffix: str) -> Parsed:
    """Parse the bytes of a file; a suffix such as ``.md.erb`` is that of a template.

    Raises:
        UnparsableError: the file cannot be parsed.
    """
    if suffix.endswith(_TEMPLATE):
        data, suffix = _TEMPLATE_CODE.sub(b"", data), suffix.removesuffix(_TEMPLATE)
    if not data.strip():
        raise UnparsableError("empty")
    kind = "pdf" if data.startswith(b"%PDF-") else SUFFIXES[suffix]
    parser = getattr(
        import_module(f"groundset.corpus.parsing.{kind}"), f"parse_{kind}"
    )  # some take a second
    try:
        content = clean(decode(data)) if kind in ("markdown", "plain") else data
        if isinstance(content, str):
            _refuse_long(content)
        is_general = kind in ("office", "markdown", "pandoc")
        parsed: Parsed = parser(content, suffix) if is_general else parser(content)
    except (UnparsableError, MemoryError, RecursionError):
        raise
    except Exception as error:  # parsers raise arbitrary exceptions for damaged files
        raise UnparsableError(
            f"damaged {suffix[1:] or kind} file ({type(error).__name__})"
        ) from error
    _refuse_long(parsed.text)
    return parsed


def _refuse_long(text: str) -> None:
    if len(text) > MAX_TEXT_MB << 20:
        raise UnparsableError(f"its text is longer than {MAX_TEXT_MB} MB")
    if text.count("\n") > MAX_LINES:
        raise UnparsableError(f"its text has more than {MAX_LINES:,} lines")
