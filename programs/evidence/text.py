"""Sentences and plain text, and the patterns that several kinds of evidence share."""

import re

from sentencex import segment

CITATION = re.compile(
    r"\b(?:doi|isbn|issn|pmid|pmc|arxiv|bibcode|s2cid|retrieved|archived from|accessed|et al|vol\.|pp?\. ?\d|"
    r"ed\.\)|eds\.|university press|journal of|proceedings|abgerufen am|ibid|op\. cit)\b|\^|\(\d{4}[a-z]?\)[.,]|"
    r"https?://|www\.",
    re.IGNORECASE,
)
CODE = re.compile(r"[{}<>;=\\$_]|\(\)|::|->|\|")
SENTENCE_END = re.compile(r"[.!?…][\"'”’»)\]]*(?:\[\d+\])*\s*$")
CAPITALISED = re.compile(r"\b[^\W\d_a-zß-ÿ][\w’'-]+")
_MARKUP = re.compile(r"!?\[([^\]\n]*)\]\([^)\s]*\)|\[\^?\d+\]|(?<!\w)[*_`]+(?=\S)|(?<=\S)[*_`]+(?!\w)|</?[a-z]+>")


def plain(text: str) -> str:
    """Return Markdown text without emphasis, code marks, link targets and footnote marks."""
    return re.sub(r"[ \t]{2,}", " ", _MARKUP.sub(lambda match: match.group(1) or "", text)).strip()


def sentences(text: str, language: str) -> list[str]:
    """Return the sentences of a text, without line breaks."""
    found: list[str] = []
    for block in re.split(r"\n\s*\n|\n(?=\s*(?:[-*•|#>]|\d{1,3}[.)]\s))", text):
        found.extend(" ".join(piece.split()) for piece in segment(language, " ".join(block.split())))
    return [sentence for sentence in found if sentence]


def share(part: float, whole: float) -> float:
    """Return part / whole, 0 for an empty whole."""
    return part / whole if whole else 0.0
