"""Language detection."""

from functools import lru_cache

import py3langid

from programs.text import MAX_READ

_CACHED = 512  # texts; every decision needs the language of its passage and question again


def language_of(text: str) -> str:
    """Return the ISO 639-1 code of the most likely language of a text, by its first ``MAX_READ`` characters."""
    return _classified(text[:MAX_READ])


@lru_cache(_CACHED)
def _classified(text: str) -> str:
    code, _ = py3langid.classify(text)
    return str(code)
