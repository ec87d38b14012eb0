"""A journal around an engine: finished calls are stored and replayed."""

import dataclasses
import hashlib
import json
import re
import threading
import time
from typing import Any, Protocol

from dspy.lm15 import Message, Request, Response, TokenLogprob, TopLogprob, Usage

_SURROGATE = re.compile("[\ud800-\udfff]")


class CallJournal(Protocol):
    """Durable storage of finished language model calls."""

    def get(self, digest: str) -> dict[str, Any] | None:
        """Return the record of a finished call, or None."""
        ...

    def put(self, digest: str, record: dict[str, Any]) -> None:
        """Store a finished call durably before returning, unless there is one with this digest."""
        ...

    def count(self, server: str, *, calls: int = 0, failures: int = 0, seconds: float = 0.0) -> None:
        """Add answers with their duration, or requests without an answer, to the counts of a server."""
        ...


class CompletionEngine(Protocol):
    """The part of the interface of DSPy engines that is used here."""

    def complete(self, request: Request) -> Response:
        """Answer one request."""
        ...


class MemoryJournal:
    """Keep finished calls in memory, for work without a run folder."""

    def __init__(self) -> None:
        self._records: dict[str, dict[str, Any]] = {}

    def get(self, digest: str) -> dict[str, Any] | None:
        """Return the record of a finished call, or None."""
        return self._records.get(digest)

    def put(self, digest: str, record: dict[str, Any]) -> None:
        """Store a finished call."""
        self._records.setdefault(digest, record)

    def count(self, server: str, *, calls: int = 0, failures: int = 0, seconds: float = 0.0) -> None:
        """Do nothing: only runs report on servers."""


def digest_of(request: Request) -> str:
    """Return the SHA-256 of everything that determines a completion: model, texts and sampling options."""
    config = request.config
    settings = {
        field.name: value
        for field in dataclasses.fields(config)
        if (value := getattr(config, field.name)) not in (None, ())
    }
    system = request.system if isinstance(request.system, str) else [part.text for part in request.system or ()]
    turns = [(message.role, message.text) for message in request.messages]
    canonical = json.dumps([request.model, system, turns, settings], sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(canonical.encode("utf-8")).hexdigest()


def evaluated_tokens(usage: Usage) -> int:
    """Return the number of prompt tokens that were not in the prefix cache."""
    return max(0, (usage.input_tokens or 0) - (usage.cache_read_tokens or 0))


def record_of(response: Response, seconds: float) -> dict[str, Any]:
    """Return a finished call as it is stored in a journal."""
    usage = response.usage
    return {
        "response": {
            "text": _storable(response.message.text or ""),
            "finish_reason": response.finish_reason,
            "logprobs": _logprobs_to_json(response),
        },
        "prompt_tokens": usage.input_tokens or 0,
        "evaluated_tokens": evaluated_tokens(usage),
        "completion_tokens": usage.output_tokens or 0,
        "seconds": round(seconds, 4),
    }


class JournaledEngine:
    """Answer requests from the journal, or else from the engine, and store the answers.

    The counters cover this process: ``calls`` to the model, and ``replayed`` answers. Errors are not stored.
    """

    def __init__(self, inner: CompletionEngine, journal: CallJournal) -> None:
        self._inner = inner
        self._journal = journal
        self._lock = threading.Lock()
        self._usage: dict[str, float] = {
            "calls": 0,
            "replayed": 0,
            "prompt_tokens": 0,
            "evaluated_tokens": 0,
            "completion_tokens": 0,
            "seconds": 0.0,
        }

    def usage(self) -> dict[str, float]:
        """Return a copy of the counters."""
        with self._lock:
            return dict(self._usage)

    def complete(self, request: Request) -> Response:
        """Answer one request, from the journal if possible."""
        digest = digest_of(request)
        if (record := self._journal.get(digest)) is not None:
            with self._lock:
                self._usage["replayed"] += 1
            return _response_from(record, request.model)
        started = time.perf_counter()
        response = self._inner.complete(request)
        seconds = time.perf_counter() - started
        record = record_of(response, seconds)
        self._journal.put(digest, record)
        with self._lock:
            self._usage["calls"] += 1
            self._usage["seconds"] += seconds
            for key in ("prompt_tokens", "evaluated_tokens", "completion_tokens"):
                self._usage[key] += record[key]
        return _response_from(record, request.model)


def _storable(text: str) -> str:
    """Return a text without lone surrogates, which cannot be stored."""
    # Not replaced by "?", as `encode` does, which would turn a sentence into a question.
    return _SURROGATE.sub("\ufffd", text)


def _logprobs_to_json(response: Response) -> list[Any] | None:
    if response.logprobs is None:
        return None
    return [
        [
            _storable(token.token),
            token.logprob,
            [[_storable(top.token), top.logprob] for top in token.top],
        ]
        for token in response.logprobs
    ]


def _response_from(record: dict[str, Any], model: str) -> Response:
    stored = record["response"]
    logprobs = stored["logprobs"]
    prompt, completion = record["prompt_tokens"], record["completion_tokens"]
    return Response(
        id=None,
        model=model,
        message=Message.assistant(stored["text"]),
        finish_reason=stored["finish_reason"],
        usage=Usage(
            input_tokens=prompt,
            output_tokens=completion,
            total_tokens=prompt + completion,
            cache_read_tokens=prompt - record["evaluated_tokens"],
        ),
        logprobs=None
        if logprobs is None
        else tuple(
            TokenLogprob(token=token, logprob=logprob, top=tuple(TopLogprob(token=t, logprob=p) for t, p in tops))
            for token, logprob, tops in logprobs
        ),
    )
