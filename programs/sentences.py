"""Where the sentences of a text end."""

import re
from functools import lru_cache

from sentencex import segment

_SHORT_LINE = 0.6  # of the longest line
_KEPT = 256  # texts; every measurement of a passage looks at its sentences


@lru_cache(_KEPT)
def sentences(text: str, segmenter: str, unfinished: re.Pattern[str]) -> tuple[str, ...]:
    """Return the sentences of a text, without line breaks, by the rules of the language with this code.

    What ``unfinished`` is found in goes on in the piece after it, though the rules end it there.
    """
    found: list[str] = []
    for block in re.split(r"\n\s*\n|\n(?=\s*(?:[-*•|#>]|\d{1,3}[.)]\s))", text):
        for piece in _paragraphs(block):
            found.extend(" ".join(sentence.split()) for sentence in segment(segmenter, piece))
    whole: list[str] = []
    for sentence in filter(None, found):
        if whole and unfinished.search(whole[-1]):
            whole[-1] += sentence if sentence.startswith("-") else f" {sentence}"
        else:
            whole.append(sentence)
    return tuple(whole)


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
