"""Language detection."""

from collections.abc import Collection
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


def language_among(text: str, codes: Collection[str]) -> str:
    """Return the most likely of some languages, which is reliable for far shorter texts than :func:`language_of`."""
    return next(str(code) for code, _ in py3langid.rank(text[:MAX_READ]) if code in codes)
