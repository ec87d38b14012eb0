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
_SHORT_LINE = 0.6  # of the longest line
_SEGMENTERS = {"nn": "da", "no": "da", "nb": "da"}  # Norwegian by the rules that know ordinals such as "14. juni"
_MARKUP = re.compile(r"!?\[([^\]\n]*)\]\([^)\s]*\)|\[\^?\d+\]|(?<!\w)[*_`]+(?=\S)|(?<=\S)[*_`]+(?!\w)|</?[a-z]+>")


def plain(text: str) -> str:
    """Return Markdown text without emphasis, code marks, link targets and footnote marks."""
    return re.sub(r"[ \t]{2,}", " ", _MARKUP.sub(lambda match: match.group(1) or "", text)).strip()


def sentences(text: str, language: str) -> list[str]:
    """Return the sentences of a text, without line breaks."""
    found: list[str] = []
    segmenter = _SEGMENTERS.get(language, language)
    for block in re.split(r"\n\s*\n|\n(?=\s*(?:[-*•|#>]|\d{1,3}[.)]\s))", text):
        for piece in _paragraphs(block):
            found.extend(" ".join(sentence.split()) for sentence in segment(segmenter, piece))
    return [sentence for sentence in found if sentence]


def _paragraphs(block: str) -> list[str]:
    """Join the lines of a block, except where a short line ends without a stop and the next opens with a capital.

    Such a line is a heading or a date above running text, not a part of its first sentence.
    """
    lines = [" ".join(line.split()) for line in block.splitlines() if line.strip()]
    longest = max(map(len, lines), default=0)
    joined: list[str] = []
    for before, line in zip(["", *lines], lines, strict=False):
        ends = len(before) < _SHORT_LINE * longest and not re.search(r"[.,;:!?…–—-]$", before)
        if not joined or (ends and re.match(r"[\"“(]?[^\W_a-zß-ÿ]", line)):
            joined.append(line)
        else:
            joined[-1] += f" {line}"
    return joined


def share(part: float, whole: float) -> float:
    """Return part / whole, 0 for an empty whole."""
    return part / whole if whole else 0.0
