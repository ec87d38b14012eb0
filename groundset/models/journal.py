"""The engine of every model: finished calls are stored by their request, and answered from the
journal.

A call that is asked for twice at the same time is made once. What DSPy asks for again on purpose,
with a rollout id or as one of several candidates, is another call.
"""

import dataclasses
import json
import re
import threading
import time
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from typing import Any, Protocol, Self

from dspy import lm15
from dspy._vendor.lm15.serde import request_to_dict, response_from_dict, response_to_dict
from dspy.utils.callback import BaseCallback
from dspy.utils.exceptions import ContextWindowExceededError, LMError, LMInvalidRequestError

from groundset.models.llama import LlamaModel
from groundset.models.server import Server
from groundset.programs.errors import ModelError
from groundset.programs.text import digest

_SURROGATE = re.compile("[\ud800-\udfff]")
_CANDIDATES = 1_000  # of one call, at most
_MAX_TOKENS = 10**9  # of one call; sums of what a server makes up could not be stored
_FORMAT = 2  # of what is stored
_FAILURES_IN_A_ROW = 5  # of requests, which end the command
_COUNTS = ("prompt_tokens", "cached_tokens", "generated_tokens")
_TOO_LONG = (ContextWindowExceededError, lm15.ContextLengthError)
_variants: ContextVar[Iterator[int] | None] = ContextVar("_variants", default=None)


class Journal(Protocol):
    """Storage of finished calls: the response as JSON text, by the hash of the request."""

    def get(self, key: str, /) -> str | None:
        """Return the response of a finished call, or None."""

    def put(self, key: str, response: str, /) -> None:
        """Store the response of a finished call before returning."""


class MemoryJournal(dict[str, str]):
    """Keep finished calls in memory, for work without a run folder."""

    put = dict.__setitem__


class FailingModelError(ModelError, LMError):
    """A model answers no request; DSPy passes it on as it is."""


class Engine:
    """The engine of a ``dspy.LM``: answers come from the journal, or else from the model."""

    def __init__(
        self,
        spec: str,
        model: LlamaModel | Server | None,
        journal: Journal | None = None,
        adapters: Mapping[str, str] | None = None,
    ) -> None:
        """Wrap a model, None if it is not open; ``adapters`` are the SHA-256 of its adapters by
        name.
        """
        self._spec, self._model = spec, model
        self._journal: Journal = MemoryJournal() if journal is None else journal
        self._adapters = dict(adapters or {})
        self._lock = threading.Lock()
        self._asking: dict[str, threading.Lock] = {}
        self._failures = 0  # since the last answer
        self._usage: dict[str, float] = dict.fromkeys(("calls", *_COUNTS, "seconds"), 0)

    def usage(self) -> dict[str, float]:
        """Return the counts of this process.

        ``calls`` to the model, to which answers of the journal do not belong, and their
        ``prompt_tokens``, ``cached_tokens`` (those of prompts that were in the prefix cache),
        ``generated_tokens`` and ``seconds``.
        """
        with self._lock:
            return dict(self._usage)

    def complete(self, request: lm15.Request) -> lm15.Response:
        """Answer one request, from the journal if possible.

        Raises:
            FailingModelError: several requests in a row failed.
        """
        if self._model is None:
            raise FailingModelError(
                f"the model {self._spec} of a saved program is not open; open it and set it: "
                f"program.set_lm(groundset.lm({self._spec!r}))"
            )
        request, key = self._keyed(request)
        with self._lock:
            asking = self._asking.setdefault(key, threading.Lock())
        with asking:  # for what another thread asks at the same time
            stored = self._journal.get(key)
            if stored is None:
                stored = self._call(self._model, request, key)
        self._failures = 0
        return response_from_dict(json.loads(stored)["response"])

    def _call(self, model: LlamaModel | Server, request: lm15.Request, key: str) -> str:
        started = time.perf_counter()
        try:
            response = model.complete(request)
        except (LMInvalidRequestError, lm15.InvalidRequestError) as error:
            if not isinstance(error, _TOO_LONG):
                self._failures += 1
            if self._failures >= _FAILURES_IN_A_ROW:
                told = f"{_FAILURES_IN_A_ROW} requests in a row failed: {error}"
                raise FailingModelError(told) from error
            raise
        stored = _stored(response, time.perf_counter() - started)
        self._journal.put(key, stored)
        counts = json.loads(stored)
        with self._lock:
            self._usage["calls"] += 1
            for name in (*_COUNTS, "seconds"):
                self._usage[name] += counts[name]
        return stored

    def _keyed(self, request: lm15.Request) -> tuple[lm15.Request, str]:
        """Return a request, with another seed for another candidate, and the hash of all that its
        answer depends on.
        """
        variants = _variants.get()
        variant, seed = next(variants) if variants else 0, request.config.seed
        if variant and seed is not None:
            request = dataclasses.replace(
                request, config=dataclasses.replace(request.config, seed=seed + variant)
            )
            variant = 0
        adapter = self._adapters.get(str((request.config.extensions or {}).get("adapter")))
        asked = request_to_dict(request)
        asked |= {"adapter_sha256": adapter, "variant": variant, "format": _FORMAT}
        return request, digest(asked)

    def stream(self, request: lm15.Request) -> Iterator[Any]:
        """Answer one request as DSPy's stream events, in one piece."""
        return iter(lm15.response_to_events(self.complete(request)))

    def close(self) -> None:
        """Free the model."""
        if self._model is not None:
            self._model.close()

    def dump_state(self) -> dict[str, Any]:
        """Return what DSPy saves: the specification, without keys."""
        return {"spec": self._spec}

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Return the engine itself: copies of a program share the model."""
        return self


class Variants(BaseCallback):
    """Tell the engine which of several answers to the same request DSPy asks for."""

    def on_lm_start(self, call_id: str, instance: Any, inputs: dict[str, Any]) -> None:  # noqa: ARG002 - DSPy's names
        """Number the requests of a call, from its rollout id."""
        rollout = (inputs.get("kwargs") or {}).get("rollout_id", instance.kwargs.get("rollout_id"))
        first = _CANDIDATES * (int(rollout) if str(rollout).isdigit() else 0)
        _variants.set(iter(range(first, first + _CANDIDATES)))

    def on_lm_end(self, call_id: str, outputs: Any, exception: BaseException | None = None) -> None:  # noqa: ARG002
        """Forget the call."""
        _variants.set(None)


def _stored(response: lm15.Response, seconds: float) -> str:
    """Return a finished call as JSON text, with its counts beside the response."""
    usage = response.usage
    tokens = (usage.input_tokens, usage.cache_read_tokens, usage.output_tokens)
    call: dict[str, Any] = {
        name: min(max(0, count or 0), _MAX_TOKENS)
        for name, count in zip(_COUNTS, tokens, strict=True)
    }
    call |= {"seconds": round(seconds, 4), "response": response_to_dict(response)}
    # A lone surrogate cannot be stored. Not replaced by "?", as `encode` does, which turns a
    # sentence into a question.
    return _SURROGATE.sub("\ufffd", json.dumps(call, ensure_ascii=False))
