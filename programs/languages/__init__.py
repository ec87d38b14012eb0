"""The languages by code, one file each; English is a folder, because it has a syntax."""

from collections.abc import Mapping

from programs.discover import discover
from programs.languages.base import Language

LANGUAGES: Mapping[str, Language] = discover("programs.languages", "LANGUAGE", Language, by="code")
