"""Parse sentences with a spaCy pipeline of the catalogue."""

import threading
from collections.abc import Iterable
from typing import Any

from groundset.models.catalogue import CATALOGUE, near_matches
from groundset.models.download import PullProgress
from groundset.models.pull import pull
from programs.errors import ModelError, UnknownModelError

NONE = "none"
_CACHE_SIZE = 512  # sentences; those of a chunk are needed up to three times
# Characters; longer sentences are truncated to limit memory. Sentences of more than 60 words get no questions.
_MAX_LENGTH = 5_000
_BATCH = 128  # sentences; takes half the time of parsing them one by one


class Parser:
    """A loaded pipeline; safe to share between threads.

    Attributes:
        name: its name in the catalogue, or ``none``.
        sha256: the hash of its weights, None without any.
    """

    def __init__(self, name: str, sha256: str | None, pipeline: Any | None) -> None:
        """Wrap a spaCy pipeline, or None for a parser without languages."""
        self.name = name
        self.sha256 = sha256
        self._language = pipeline.lang if pipeline is not None else None
        self._pipeline = pipeline
        self._cache: dict[str, Any] = {}  # the most recently used last
        self._lock = threading.Lock()

    def __reduce__(self) -> tuple[Any, ...]:
        """Send only the name to another process, which loads the parser itself."""
        return load_parser, (self.name,)

    def __call__(self, sentence: str, language: str) -> Any | None:
        """Parse a sentence, truncated if it is very long; None for an unsupported language."""
        if self._pipeline is None or not self.reads(language):
            return None
        sentence = sentence[:_MAX_LENGTH]
        with self._lock:
            cached = self._cache.pop(sentence, None)
            return self._store(sentence, self._pipeline(sentence) if cached is None else cached)

    def read_ahead(self, sentences: Iterable[str], language: str) -> None:
        """Parse sentences in batches and cache them; the results are the same."""
        if self._pipeline is None or not self.reads(language):
            return
        with self._lock:
            unique = dict.fromkeys(sentence[:_MAX_LENGTH] for sentence in sentences)
            missing = [sentence for sentence in unique if sentence not in self._cache][:_CACHE_SIZE]
            for sentence, parsed in zip(missing, self._pipeline.pipe(missing, batch_size=_BATCH), strict=True):
                self._store(sentence, parsed)

    def reads(self, language: str) -> bool:
        """Return whether the parser supports a language."""
        return language == self._language

    def _store(self, sentence: str, parsed: Any) -> Any:
        """Cache a sentence, and drop the least recently used one."""
        self._cache[sentence] = parsed
        if len(self._cache) > _CACHE_SIZE:
            del self._cache[next(iter(self._cache))]
        return parsed


def load_parser(name: str, *, progress: PullProgress | None = None) -> Parser:
    """Load a parser of the catalogue, pulled if it is missing; ``none`` parses nothing.

    Raises:
        UnknownModelError: there is no such parser.
        ModelError: the files cannot be loaded.
    """
    if name == NONE:
        return Parser(NONE, None, None)
    entry = CATALOGUE.get(name)
    if entry is None or entry.role != "parser":
        problem = f"not a parser but of role {entry.role}" if entry else f"not a parser{near_matches(name)}"
        raise UnknownModelError(f"{name}: {problem}; use a parser from `groundset models list`, or none")
    import spacy

    try:
        return Parser(name, entry.sha256, spacy.load(pull(name, progress=progress)))
    except (OSError, ValueError) as error:
        raise ModelError(f"parser {name} cannot be loaded: {str(error).splitlines()[0]}") from error
