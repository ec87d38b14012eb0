"""Which language a text is written in."""

from functools import lru_cache

import py3langid

_KEPT = 512  # texts; a passage and the questions about it are asked for again by every decision


@lru_cache(_KEPT)
def language_of(text: str) -> str:
    """Return the ISO 639-1 code of the language that a text is most likely written in."""
    code, _ = py3langid.classify(text)
    return str(code)
