"""Open language models by their specification, for use with DSPy."""

import dataclasses
import logging
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from types import TracebackType

import dspy
from dspy.lm15 import Request, Response
from dspy.utils.exceptions import LMError, is_retryable_lm_error

from groundset.models.clients import ModelClient
from groundset.models.http_limits import ANSWER_SECONDS, UnusableAnswerError
from groundset.models.pull import ensure_available
from groundset.models.servers import connection, failure_reason, withheld_key_message
from groundset.models.specs import HostedSpec, LocalSpec, ModelSpec, OpenAISpec, parse_spec, receiver
from groundset.printing import say
from groundset.runtime.adapter import PlainTextAdapter
from groundset.runtime.control_tokens import ControlTokens
from groundset.runtime.embedded import AsyncEngine, EmbeddedEngine
from groundset.runtime.journal import CallJournal, CompletionEngine, JournaledEngine, MemoryJournal
from groundset.runtime.weight_check import check_weights
from programs.errors import ModelError

_TRIES = 3
_MAX_PAUSE = 120.0  # seconds; enough for limits per minute, but not per day
_MIN_REPORTED_PAUSE = 5.0  # seconds


class RemoteEngine:
    """Send requests to a server."""

    def __init__(self, spec: OpenAISpec | HostedSpec, notify: Callable[[str], object]) -> None:
        """Create a client; ``notify`` is called with a line about each pause that the server requests."""
        self._spec = spec
        self._notify = notify
        self._client = ModelClient(spec, connection(spec))
        self._control_tokens = ControlTokens()

    def complete(self, request: Request) -> Response:
        """Answer one request, with common control tokens in its texts escaped.

        Raises:
            ModelError: the server gave no usable answer, after retries or a timeout.
        """
        try:
            return self._control_tokens.guard(dataclasses.replace(request, model=self._client.model), self._ask)
        except (LMError, UnusableAnswerError) as error:
            reason = failure_reason(self._spec, error)
            if reason is None:
                raise
            raise ModelError(reason) from error

    def _ask(self, request: Request) -> Response:
        """Send a request up to three times, within the time limit of one answer."""
        deadline = time.monotonic() + ANSWER_SECONDS
        tries = 0
        while True:
            tries += 1
            try:
                with dspy.context(disable_history=True):  # the journal stores the calls
                    return self._client.ask(request, deadline - time.monotonic())
            except LMError as error:
                requested = getattr(error, "retry_after", None)
                pause = 2.0 ** (tries - 1) if requested is None else requested
                is_over = tries == _TRIES or pause > min(_MAX_PAUSE, deadline - time.monotonic())
                if is_over or not is_retryable_lm_error(error):
                    raise
            if pause >= _MIN_REPORTED_PAUSE:
                self._notify(f"Waiting {pause:.0f} seconds, as requested by {self._client.model}.")
            time.sleep(pause)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()


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
        self._filter = partial(_is_error)  # a separate object per model, for removeFilter
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


def _is_error(record: logging.LogRecord) -> bool:
    """Filter warnings: DSPy warns about every completion that reaches its token limit."""
    return record.levelno >= logging.ERROR


def open_lm(
    spec: str | ModelSpec,
    *,
    journal: CallJournal | None = None,
    workers: int = 1,
    adapters: Mapping[str, Path] | None = None,
    verbose: bool = False,
    notify: Callable[[str], object] | None = None,
) -> LanguageModel:
    """Open a language model; missing weights are pulled, and servers are checked first.

    Args:
        spec: see :mod:`groundset.models.specs`.
        journal: stores finished calls; in memory by default.
        workers: the maximum number of concurrent calls.
        adapters: files of adapters for local weights, by name.
        verbose: print the log of the embedded runtime.
        notify: called with a line about each recipient of texts, key that is not sent, requested pause and test of
            weights; prints to standard error by default.

    Raises:
        UnknownModelError: the specification is invalid.
        UnreachableModelError: a server does not answer, rejects the key or does not serve the model.
        WeightsError: weights that are not in the catalogue cannot be loaded.
        ModelError: the weights cannot be downloaded, verified or loaded.
    """
    parsed = ensure_available(parse_spec(spec) if isinstance(spec, str) else spec)
    if isinstance(parsed, LocalSpec):
        check_weights(parsed, adapters or {}, notify or partial(say, err=True))
        engine = EmbeddedEngine(parsed.path, workers=workers, adapters=adapters, verbose=verbose)
        return LanguageModel(
            engine, model=f"local/{parsed.sha256[:16]}", name=parsed.name, sha256=parsed.sha256, journal=journal
        )
    notify = notify or partial(say, err=True)
    if withheld := withheld_key_message(parsed):
        notify(f"{withheld}.")
    if host := receiver(parsed):
        notify(f"Texts go to {host}.")
    return LanguageModel(
        RemoteEngine(parsed, notify), model=f"remote/{parsed.name}", name=parsed.name, sha256=None, journal=journal
    )
