"""Which language a text is written in."""

import py3langid


def language_of(text: str) -> str:
    """Return the ISO 639-1 code of the language that a text is most likely written in."""
    code, _ = py3langid.classify(text)
    return str(code)
