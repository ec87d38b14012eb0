"""Parsers of the catalogue, which begin questions for guided models."""

import threading
from collections.abc import Sequence
from typing import Any

from groundset.models.catalogue import get_entry
from groundset.models.fetch import Notify, pull, say_err
from groundset.programs.errors import ModelError, first_line

# Characters; longer sentences are truncated to limit memory. Sentences of more than 60 words get no
# questions.
_MAX_LENGTH = 5_000
_BATCH = 128  # sentences; takes half the time of parsing them one by one


class Parser:
    """A loaded pipeline; safe to share between threads."""

    def __init__(self, name: str, sha256: str, pipeline: Any) -> None:
        """Wrap a spaCy pipeline by its name in the catalogue and the hash of its weights; see
        :func:`open_parser`.
        """
        self.name, self.sha256, self._pipeline = name, sha256, pipeline
        self._lock = threading.Lock()

    def __call__(self, sentences: Sequence[str]) -> list[Any]:
        """Return spaCy's parses of sentences, which are truncated if they are very long."""
        asked = (sentence[:_MAX_LENGTH] for sentence in sentences)
        with self._lock:
            return list(self._pipeline.pipe(asked, batch_size=_BATCH))


def open_parser(spec: str, *, notify: Notify = say_err) -> Parser:
    """Load a parser of the catalogue, pulled if it is missing.

    Raises:
        UnknownModelError: there is no such parser.
        ModelError: the files cannot be loaded.
    """
    entry = get_entry(spec, "parser")
    path = pull(spec, notify=notify)
    import spacy

    try:
        return Parser(spec, entry.sha256, spacy.load(path))
    except (OSError, ValueError) as error:
        raise ModelError(f"parser {spec} cannot be loaded: {first_line(error)}") from error
