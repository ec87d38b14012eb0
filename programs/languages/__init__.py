"""The languages that groundset knows: a file and a row each."""

from programs.languages.de import GERMAN
from programs.languages.en import ENGLISH
from programs.languages.es import SPANISH
from programs.languages.fr import FRENCH

LANGUAGES = {language.code: language for language in (ENGLISH, GERMAN, FRENCH, SPANISH)}
