"""The syntax of sentences, by a spaCy pipeline of the catalogue."""

import threading
from functools import lru_cache
from typing import Any

from groundset.models.catalogue import CATALOGUE, near_matches
from groundset.models.progress import PullProgress
from groundset.models.pull import pull
from programs.errors import ModelError, UnknownModelError

NONE = "none"
_KEPT = 256  # sentences: a chunk is read again for its links, and once more with its key phrases


class Parser:
    """A loaded pipeline; safe to share between threads.

    Attributes:
        name: what named it; ``none`` if nothing is parsed.
        sha256: the hash of its weights, None without any.
    """

    def __init__(self, name: str, sha256: str | None, pipeline: Any | None) -> None:
        """Wrap a spaCy pipeline, or None for a parser that knows no language."""
        self.name = name
        self.sha256 = sha256
        self._language = pipeline.lang if pipeline is not None else None
        self._read = lru_cache(_KEPT)(pipeline) if pipeline is not None else None
        self._lock = threading.Lock()

    def __call__(self, sentence: str, language: str) -> Any | None:
        """Return the sentence as a spaCy document, or None for a language that is not known."""
        if self._read is None or not self.reads(language):
            return None
        with self._lock:
            return self._read(sentence)

    def reads(self, language: str) -> bool:
        """Say whether a language is known."""
        return language == self._language


def load_parser(name: str, *, progress: PullProgress | None = None) -> Parser:
    """Load the parser that a name of the catalogue stands for, pulled if it is missing; ``none`` parses nothing.

    Raises:
        UnknownModelError: there is no such parser.
        ModelError: its files cannot be loaded.
    """
    if name == NONE:
        return Parser(NONE, None, None)
    entry = CATALOGUE.get(name)
    if entry is None or entry.role != "parser":
        what = f"is the name of another kind of model ({entry.role})." if entry else f"is no parser{near_matches(name)}"
        raise UnknownModelError(f"{name} {what} `groundset models list` shows them; `none` goes without.")
    import spacy

    try:
        return Parser(name, entry.sha256, spacy.load(pull(name, progress=progress)))
    except (OSError, ValueError) as error:
        raise ModelError(f"Parser {name} cannot be loaded: {str(error).splitlines()[0]}") from error
