"""Open language models by their specification, for use with DSPy."""

import logging
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import TracebackType

import dspy

from groundset.models.http_limits import ANSWER_SECONDS
from groundset.models.pull import ensure_available
from groundset.models.servers import is_error
from groundset.models.specs import LocalSpec, ModelSpec, parse_spec
from groundset.printing import say
from groundset.runtime.adapter import PlainTextAdapter
from groundset.runtime.embedded import AsyncEngine, EmbeddedEngine
from groundset.runtime.journal import CallJournal, CompletionEngine, JournaledEngine, MemoryJournal
from groundset.runtime.remote import RETRIES, RemoteEngine
from groundset.runtime.weight_check import check_weights

_LOG = logging.getLogger("dspy.clients.lm")


class LanguageModel:
    """An open language model; pass ``lm`` and ``adapter`` to ``dspy.context``.

    Attributes:
        lm: the ``dspy.LM``; its model string contains the hash of the weights, because DSPy's cache key does not
            contain the engine.
        adapter: the plain-text adapter.
        name: the specification's name.
        sha256: the hash of local weights, None for a model on a server.
    """

    def __init__(
        self, engine: CompletionEngine, *, model: str, name: str, sha256: str | None, journal: CallJournal | None
    ) -> None:
        """Wrap an engine in a journal and a ``dspy.LM``."""
        self._inner = engine
        self._engine = JournaledEngine(engine, journal if journal is not None else MemoryJournal())
        self.lm = dspy.LM(
            model,
            engine=self._engine,
            async_engine=AsyncEngine(self._engine),
            cache=False,  # the journal is the cache
            num_retries=2,
        )
        self._filter = partial(is_error)  # a separate object per model, for removeFilter
        _LOG.addFilter(self._filter)
        self.adapter = PlainTextAdapter()
        self.name = name
        self.sha256 = sha256

    def usage(self) -> dict[str, float]:
        """Return calls, replayed calls, tokens and seconds of this process."""
        return self._engine.usage()

    def close(self) -> None:
        """Free the model."""
        _LOG.removeFilter(self._filter)
        close = getattr(self._inner, "close", None)
        if close is not None:
            close()

    def __enter__(self) -> "LanguageModel":
        """Return the model itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Free the model."""
        self.close()


def open_lm(
    spec: str | Sequence[str] | ModelSpec,
    *,
    journal: CallJournal | None = None,
    workers: int = 1,
    adapters: Mapping[str, Path] | None = None,
    verbose: bool = False,
    notify: Callable[[str], object] | None = None,
    timeout: float = ANSWER_SECONDS,
    retries: int = RETRIES,
) -> LanguageModel:
    """Open a language model; missing weights are pulled, and servers are checked first.

    Args:
        spec: see :mod:`groundset.models.specs`; several name one model on several servers.
        journal: stores finished calls; in memory by default.
        workers: the maximum number of concurrent calls.
        adapters: files of adapters for local weights, by name.
        verbose: print the log of the embedded runtime.
        notify: called with a line about each recipient of texts, key that is not sent, pause, server that is left out
            and test of weights; prints to standard error by default.
        timeout: how many seconds to wait for an answer of a server.
        retries: how often to send a request again to the same server.

    Raises:
        UnknownModelError: the specification is invalid.
        UnreachableModelError: a server does not answer, rejects the key or does not serve the model.
        WeightsError: weights that are not in the catalogue cannot be loaded.
        ModelError: the weights cannot be downloaded, verified or loaded.
    """
    parsed = ensure_available(spec if isinstance(spec, ModelSpec) else parse_spec(spec))
    notify = notify or partial(say, err=True)
    if isinstance(parsed, LocalSpec):
        check_weights(parsed, adapters or {}, notify)
        engine = EmbeddedEngine(parsed.path, workers=workers, adapters=adapters, verbose=verbose)
        return LanguageModel(
            engine, model=f"local/{parsed.sha256[:16]}", name=parsed.name, sha256=parsed.sha256, journal=journal
        )
    journal = MemoryJournal() if journal is None else journal
    return LanguageModel(
        RemoteEngine(parsed, notify, journal, timeout=timeout, retries=retries),
        model=f"remote/{parsed.name}",
        name=parsed.name,
        sha256=None,
        journal=journal,
    )
