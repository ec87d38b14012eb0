"""The languages that groundset knows by their codes, one file each; English is a folder, for it has a syntax."""

from collections.abc import Mapping

from programs.discover import discover
from programs.languages.base import Language

LANGUAGES: Mapping[str, Language] = discover("programs.languages", "LANGUAGE", Language, by="code")
