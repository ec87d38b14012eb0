"""Parse sentences with a spaCy pipeline of the catalogue."""

import threading
from collections.abc import Iterable
from typing import Any

from groundset.models.catalogue import get_entry
from groundset.models.fetch import Notify, pull, say_err
from programs.errors import ModelError

_CACHE_SIZE = 512  # sentences; those of a chunk are needed up to three times
# Characters; longer sentences are truncated to limit memory. Sentences of more than 60 words get no questions.
_MAX_LENGTH = 5_000
_BATCH = 128  # sentences; takes half the time of parsing them one by one


class Parser:
    """A loaded pipeline; safe to share between threads.

    Attributes:
        name: its name in the catalogue.
        sha256: the hash of its weights.
        language: the code of the only language that it reads.
    """

    def __init__(self, name: str, sha256: str, pipeline: Any) -> None:
        """Wrap a spaCy pipeline; see :func:`open_parser`."""
        self.name, self.sha256, self.language = name, sha256, str(pipeline.lang)
        self._pipeline = pipeline
        self._cache: dict[str, Any] = {}  # the most recently used last
        self._lock = threading.Lock()

    def __call__(self, sentence: str) -> Any:
        """Return spaCy's parse of a sentence, which is truncated if it is very long."""
        sentence = sentence[:_MAX_LENGTH]
        with self._lock:
            cached = self._cache.pop(sentence, None)
            return self._store(sentence, self._pipeline(sentence) if cached is None else cached)

    def read_ahead(self, sentences: Iterable[str]) -> None:
        """Parse sentences in batches and cache them; the results are the same."""
        with self._lock:
            unique = dict.fromkeys(sentence[:_MAX_LENGTH] for sentence in sentences)
            missing = [sentence for sentence in unique if sentence not in self._cache][:_CACHE_SIZE]
            for sentence, parsed in zip(missing, self._pipeline.pipe(missing, batch_size=_BATCH), strict=True):
                self._store(sentence, parsed)

    def _store(self, sentence: str, parsed: Any) -> Any:
        self._cache[sentence] = parsed
        if len(self._cache) > _CACHE_SIZE:
            del self._cache[next(iter(self._cache))]
        return parsed


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
        raise ModelError(f"parser {spec} cannot be loaded: {str(error).splitlines()[0]}") from error
