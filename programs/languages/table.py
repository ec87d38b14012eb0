"""A table of languages, with their parsers and language detection."""

from collections.abc import Mapping

from programs.language_detection import language_of
from programs.languages.base import Language, Syntax
from programs.types import Parse

# The names of these languages in Snowball. Norwegian uses Danish sentence rules, which know ordinals ("14. juni").
_SNOWBALL = {"da": "danish", "fi": "finnish", "it": "italian", "nl": "dutch", "pt": "portuguese", "sv": "swedish"}
_NORWEGIAN = ("nb", "nn", "no")


def neutral(code: str) -> Language:
    """Return a language with this code and neutral defaults."""
    if code in _NORWEGIAN:
        return Language(code=code, stemmer="norwegian", segmenter="da")
    return Language(code=code, stemmer=_SNOWBALL.get(code, ""))


class Languages:
    """Languages by code; unknown ones get neutral defaults.

    Attributes:
        parse: the parser, None if there is none.
    """

    def __init__(self, known: Mapping[str, Language], parse: Parse | None = None) -> None:
        """Build the table from languages by code, and a parser."""
        self.parse = parse
        self._known = dict(known)
        self._syntaxes: dict[str, Syntax | None] = {}

    def of(self, text: str) -> Language:
        """Return the most likely language of a text."""
        return self[language_of(text)]

    def __getitem__(self, code: str) -> Language:
        """Return the language with an ISO 639-1 code."""
        if code not in self._known:
            self._known[code] = neutral(code)
        return self._known[code]

    def syntax_in(self, code: str) -> Syntax | None:
        """Return the syntax of the language with a code; None without syntax or parser."""
        return self.syntax_of(self[code])

    def syntax_of(self, language: Language) -> Syntax | None:
        """Return the syntax of a language; None without syntax or parser."""
        code, parse = language.code, self.parse
        if code not in self._syntaxes:
            usable = parse is not None and language.syntax is not None and parse.reads(code)
            self._syntaxes[code] = language.syntax(parse) if usable and language.syntax and parse else None
        return self._syntaxes[code]
