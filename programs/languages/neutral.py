"""A language that has no file of its own: no words are known, but tools may know where its words and sentences end."""

from programs.languages.base import Language

# What libraries call these languages. Norwegian goes by the rules that know ordinals such as "14. juni".
_SNOWBALL = {"da": "danish", "fi": "finnish", "it": "italian", "nl": "dutch", "pt": "portuguese", "sv": "swedish"}
_NORWEGIAN = ("nb", "nn", "no")


def neutral(code: str) -> Language:
    """Return the language with this code as one of which nothing else is known."""
    if code in _NORWEGIAN:
        return Language(code=code, stemmer="norwegian", segmenter="da")
    return Language(code=code, stemmer=_SNOWBALL.get(code, ""))
