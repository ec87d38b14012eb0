"""English: its words and its syntax."""

from dataclasses import replace

from programs.languages.en.reading import EnglishSyntax
from programs.languages.en.words import WORDS

LANGUAGE = replace(WORDS, syntax=EnglishSyntax)
