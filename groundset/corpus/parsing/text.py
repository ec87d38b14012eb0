"""Decode bytes and clean text: encodings, newlines and control characters."""

import re
import unicodedata
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import NamedTuple

from charset_normalizer import from_bytes

from programs.types import Heading, PageStart


class Parsed(NamedTuple):
    """A parsed document: text, title (None without one), headings in order, page starts if it has pages, and captions.

    ``captions`` are the paragraphs that its format marks as captions.
    """

    text: str
    title: str | None
    headings: Sequence[Heading]
    pages: Sequence[PageStart] = ()
    captions: Sequence[str] = ()


class UnparsableError(Exception):
    """A file cannot be parsed; the message is the reason, without the file name."""


_BOMS = (
    (b"\xef\xbb\xbf", "utf-8-sig"),
    (b"\xff\xfe\x00\x00", "utf-32"),
    (b"\x00\x00\xfe\xff", "utf-32"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
)
# Common encodings, the most common first. With the detector's full list, short Western texts are mistaken for
# mainframe and DOS code pages.
_CANDIDATES = [
    "cp1252",
    "cp1250",
    "cp1251",
    "cp1253",
    "cp1254",
    "cp1255",
    "cp1256",
    "iso8859_2",
    "iso8859_15",
    "koi8_r",
    "shift_jis",
    "euc_jp",
    "gb18030",
    "big5",
    "euc_kr",
]
_LINE_ENDS = re.compile(r"\r\n?|[\x0b\x0c\x85\u2028\u2029]")
# Matches only from the first space of a run; starting at each space would take quadratic time.
_TRAILING_SPACE = re.compile(r"(?<![^\S\n])[^\S\n]+$", re.MULTILINE)
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_SURROGATE = re.compile(r"[\ud800-\udfff]")
# Invisible characters that break text search: soft hyphen, zero-width space, byte-order mark.
_INVISIBLE = dict.fromkeys(map(ord, "\u00ad\u200b\ufeff"))
_LIGATURES = {0xFB00 + i: text for i, text in enumerate(("ff", "fi", "fl", "ffi", "ffl", "st", "st"))}
_TABLE = _INVISIBLE | _LIGATURES | {0xA0: " ", 0x202F: " "}
_SAMPLE = 1 << 16
_MAX_JUNK = 0.02


def decode(data: bytes, declared: str | None = None) -> str:
    """Decode the bytes of a text file, detecting the encoding."""
    for mark, encoding in _BOMS:
        if data.startswith(mark):
            return _decode_as(data, encoding)
    wide = _wide_encoding(data)
    if wide is not None:
        return _decode_as(data, wide)
    if b"\x00" in data[:_SAMPLE]:
        raise UnparsableError("binary")
    for likely in ("utf-8", declared):
        if likely is not None:
            try:
                return data.decode(likely)
            except (UnicodeError, LookupError):  # a page may declare any codec
                continue
    matches = from_bytes(data, cp_isolation=_CANDIDATES)
    best = matches.best()
    if best is None:
        raise UnparsableError("binary or in an unknown encoding")
    # Short texts fit several code pages equally well; prefer the most common one.
    ties = [match for match in matches if (match.chaos, match.coherence) == (best.chaos, best.coherence)]
    return _decode_as(data, min(ties, key=lambda match: _CANDIDATES.index(match.encoding)).encoding)


def clean(text: str) -> str:
    """Normalise newlines and drop control characters."""
    junk = sum(_is_junk(character) for character in text[:_SAMPLE])
    if junk > _MAX_JUNK * min(len(text), _SAMPLE):
        raise UnparsableError("binary")
    text = _CONTROL.sub("", _LINE_ENDS.sub("\n", text).translate(_TABLE))
    # Lone surrogates cannot be encoded as UTF-8.
    text = _SURROGATE.sub("?", text)
    return _TRAILING_SPACE.sub("", text).strip("\n")


def name_title(path: str) -> str:
    """Derive a title from a file name."""
    stem = PurePosixPath(path).stem
    return " ".join(re.sub(r"[_\-.]+", " ", stem).split()) or stem


def _decode_as(data: bytes, encoding: str) -> str:
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        raise UnparsableError(f"damaged {encoding.removesuffix('-sig')} text") from error


def _wide_encoding(data: bytes) -> str | None:
    """Detect UTF-16 without a byte-order mark: every other byte of Western text is zero."""
    sample = data[:_SAMPLE]
    if len(sample) < 4 or len(data) % 2:
        return None
    half = len(sample) // 2
    even, odd = sample[0::2].count(0) / half, sample[1::2].count(0) / half
    if odd > 0.5 and even < 0.05:
        return "utf-16-le"
    if even > 0.5 and odd < 0.05:
        return "utf-16-be"
    return None


def _is_junk(character: str) -> bool:
    is_control = unicodedata.category(character) == "Cc" and not character.isspace()
    return character == "\ufffd" or is_control
