"""Opening a language model by its specification, ready for DSPy."""

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
from groundset.models.servers import connection, why_failed, withheld
from groundset.models.specs import HostedSpec, LocalSpec, ModelSpec, OpenAISpec, parse_spec, receiver
from groundset.printing import say
from groundset.runtime.adapter import PlainTextAdapter
from groundset.runtime.control_tokens import ControlTokens
from groundset.runtime.embedded import AsyncEngine, EmbeddedEngine
from groundset.runtime.journal import CallJournal, CompletionEngine, JournaledEngine, MemoryJournal
from groundset.runtime.weight_check import check_weights
from programs.errors import ModelError

_TRIES = 3
_LONGEST_WAIT = 120.0  # seconds: limits per minute end within it; for those per day a run is better taken up again
_SAID_FROM = 5.0  # seconds: a shorter pause needs no word


class RemoteEngine:
    """Pass requests on to a server; a journal can be put around it."""

    def __init__(self, spec: OpenAISpec | HostedSpec, notify: Callable[[str], object]) -> None:
        """Open no connection yet; ``notify`` is called with a line about each pause that a server asks for."""
        self._spec = spec
        self._notify = notify
        self._client = ModelClient(spec, connection(spec))
        self._control_tokens = ControlTokens()

    def complete(self, request: Request) -> Response:
        """Answer one request; no text in it is read as one of the common control tokens.

        Raises:
            ModelError: the server gave no answer that can be used, after some tries or some minutes.
        """
        try:
            return self._control_tokens.guard(dataclasses.replace(request, model=self._client.model), self._ask)
        except (LMError, UnusableAnswerError) as error:
            why = why_failed(self._spec, error)
            if why is None:
                raise
            raise ModelError(why) from error

    def _ask(self, request: Request) -> Response:
        """Ask until there is an answer, at most three times, and no longer than one answer may take."""
        given_up = time.monotonic() + ANSWER_SECONDS
        tried = 0
        while True:
            tried += 1
            try:
                with dspy.context(disable_history=True):  # the journal keeps what is needed
                    return self._client.ask(request, given_up - time.monotonic())
            except LMError as error:
                requested = getattr(error, "retry_after", None)
                pause = 2.0 ** (tried - 1) if requested is None else requested
                is_over = tried == _TRIES or pause > min(_LONGEST_WAIT, given_up - time.monotonic())
                if is_over or not is_retryable_lm_error(error):
                    raise
            if pause >= _SAID_FROM:
                self._notify(f"Waiting {pause:.0f} seconds, as {self._client.model} asks for.")
            time.sleep(pause)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()


_LOG = logging.getLogger("dspy.clients.lm")


class LanguageModel:
    """An open language model: ``lm`` and ``adapter`` go into ``dspy.context``.

    Attributes:
        lm: the ``dspy.LM``; its model string carries the weights' hash, because DSPy's cache key does not hold
            the engine.
        adapter: the plain-text adapter.
        name: the specification's name.
        sha256: the hash of local weights, None for a model on a server.
    """

    def __init__(
        self, engine: CompletionEngine, *, model: str, name: str, sha256: str | None, journal: CallJournal | None
    ) -> None:
        """Put a journal around an engine and a ``dspy.LM`` around both."""
        self._inner = engine
        self._engine = JournaledEngine(engine, journal if journal is not None else MemoryJournal())
        self.lm = dspy.LM(
            model,
            engine=self._engine,
            async_engine=AsyncEngine(self._engine),
            # The journal is the cache: it lives in the run folder and survives the process.
            cache=False,
            num_retries=2,
        )
        self._filter = partial(_is_error)  # one for each model, so that each takes away its own
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
    """Let only errors through: DSPy warns of every completion that reaches its token limit."""
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
    """Open the language model that ``spec`` names; weights are pulled if they are missing.

    A server is asked first whether it serves the model. Who will get texts, if they leave this machine, is always said.

    Args:
        spec: see :mod:`groundset.models.specs`.
        journal: where finished calls are kept; in memory by default.
        workers: calls in flight.
        adapters: files of adapters for local weights, by the name that calls give.
        verbose: let the embedded runtime's log through.
        notify: is called with lines on who gets texts, which key is kept back, pauses that a server asks for, and
            which weights are tried; prints on standard error by default.

    Raises:
        UnknownModelError: if the specification names nothing.
        UnreachableModelError: if a server does not answer, refuses the key or does not serve the model.
        WeightsError: if weights that are not the catalogue's cannot be loaded.
        ModelError: if the weights cannot be fetched, verified or loaded.
    """
    parsed = ensure_available(parse_spec(spec) if isinstance(spec, str) else spec)
    if isinstance(parsed, LocalSpec):
        check_weights(parsed, adapters or {}, notify or partial(say, err=True))
        engine = EmbeddedEngine(parsed.path, workers=workers, adapters=adapters, verbose=verbose)
        return LanguageModel(
            engine, model=f"local/{parsed.sha256[:16]}", name=parsed.name, sha256=parsed.sha256, journal=journal
        )
    to = receiver(parsed)
    notify = notify or partial(say, err=True)
    for line in (withheld(parsed), f"Texts go to {to}." if to else None):
        if line:
            notify(line)
    return LanguageModel(
        RemoteEngine(parsed, notify), model=f"remote/{parsed.name}", name=parsed.name, sha256=None, journal=journal
    )
