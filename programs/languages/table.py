"""The languages that a program can use, and which of them a text is written in."""

from collections.abc import Mapping

from programs.language_detection import language_of
from programs.languages.base import Language, Syntax
from programs.types import Parse

# What libraries call these languages. Norwegian goes by the rules that know ordinals such as "14. juni".
_SNOWBALL = {"da": "danish", "fi": "finnish", "it": "italian", "nl": "dutch", "pt": "portuguese", "sv": "swedish"}
_NORWEGIAN = ("nb", "nn", "no")


def neutral(code: str) -> Language:
    """Return the language with this code as one of which nothing else is known."""
    if code in _NORWEGIAN:
        return Language(code=code, stemmer="norwegian", segmenter="da")
    return Language(code=code, stemmer=_SNOWBALL.get(code, ""))


class Languages:
    """The known languages by their codes; any other is neutral.

    Attributes:
        parse: reads the syntax of sentences; None if nothing does.
    """

    def __init__(self, known: Mapping[str, Language], parse: Parse | None = None) -> None:
        """Build the table from languages by code, and a parser for those that have a syntax."""
        self.parse = parse
        self._known = dict(known)
        self._syntaxes: dict[str, Syntax | None] = {}

    def of(self, text: str) -> Language:
        """Return the language that a text is most likely written in."""
        return self[language_of(text)]

    def __getitem__(self, code: str) -> Language:
        """Return the language with an ISO 639-1 code."""
        if code not in self._known:
            self._known[code] = neutral(code)
        return self._known[code]

    def syntax_in(self, code: str) -> Syntax | None:
        """Return the syntax of the language with a code; None if it has none or nothing parses its sentences."""
        return self.syntax_of(self[code])

    def syntax_of(self, language: Language) -> Syntax | None:
        """Return the syntax of a language; None if it has none or nothing parses its sentences."""
        if language.code not in self._syntaxes:
            reads = self.parse is not None and self.parse.reads(language.code)
            made = language.syntax(self.parse) if reads and language.syntax and self.parse else None
            self._syntaxes[language.code] = made
        return self._syntaxes[language.code]
