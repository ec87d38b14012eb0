"""The syntax of sentences, by a spaCy pipeline of the catalogue."""

import threading
from collections.abc import Iterable
from typing import Any

from groundset.models.catalogue import CATALOGUE, near_matches
from groundset.models.download import PullProgress
from groundset.models.pull import pull
from programs.errors import ModelError, UnknownModelError

NONE = "none"
_KEPT = 512  # sentences: a chunk is read again for its links, and once more with its key phrases
# Characters; the tail of a longer sentence is not parsed, for memory grows with its length. No question is asked about
# a sentence of more than 60 words.
_LONGEST = 5_000
_BATCH = 128  # sentences parsed together: half the time of one by one


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
        self._pipeline = pipeline
        self._known: dict[str, Any] = {}  # the latest last
        self._lock = threading.Lock()

    def __call__(self, sentence: str, language: str) -> Any | None:
        """Return the sentence as a spaCy document, of a very long one the beginning; None for a language not known."""
        if self._pipeline is None or not self.reads(language):
            return None
        sentence = sentence[:_LONGEST]
        with self._lock:
            known = self._known.pop(sentence, None)
            return self._keep(sentence, self._pipeline(sentence) if known is None else known)

    def read_ahead(self, sentences: Iterable[str], language: str) -> None:
        """Parse sentences in one batch before they are asked for one by one; the results are the same."""
        if self._pipeline is None or not self.reads(language):
            return
        with self._lock:
            asked = dict.fromkeys(sentence[:_LONGEST] for sentence in sentences)
            missing = [sentence for sentence in asked if sentence not in self._known][:_KEPT]
            for sentence, parsed in zip(missing, self._pipeline.pipe(missing, batch_size=_BATCH), strict=True):
                self._keep(sentence, parsed)

    def reads(self, language: str) -> bool:
        """Return whether the parser knows a language."""
        return language == self._language

    def _keep(self, sentence: str, parsed: Any) -> Any:
        """Cache a sentence, and drop the least recently used one."""
        self._known[sentence] = parsed
        if len(self._known) > _KEPT:
            del self._known[next(iter(self._known))]
        return parsed


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
        what = f"is the name of another kind of model ({entry.role})" if entry else f"is no parser{near_matches(name)}"
        raise UnknownModelError(f"{name} {what}; `groundset models list` shows the parsers; `none` uses none")
    import spacy

    try:
        return Parser(name, entry.sha256, spacy.load(pull(name, progress=progress)))
    except (OSError, ValueError) as error:
        raise ModelError(f"parser {name} cannot be loaded: {str(error).splitlines()[0]}") from error
