"""English: its words, and what is read off the syntax of its sentences."""

from dataclasses import replace

from programs.languages.en.reading import EnglishSyntax
from programs.languages.en.words import WORDS

LANGUAGE = replace(WORDS, syntax=EnglishSyntax)
