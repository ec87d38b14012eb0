"""Which language a text is written in."""

from functools import lru_cache

import py3langid

from programs.text import MAX_READ

_KEPT = 512  # texts; a passage and the questions about it are asked for again by every decision


def language_of(text: str) -> str:
    """Return the ISO 639-1 code of the language that a text is most likely written in, by its first ``MAX_READ``."""
    return _classified(text[:MAX_READ])


@lru_cache(_KEPT)
def _classified(text: str) -> str:
    code, _ = py3langid.classify(text)
    return str(code)
