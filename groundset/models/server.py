"""A model on a server, through DSPy's own client: any OpenAI-compatible server, or a provider that
DSPy knows.

What a server refuses (a parameter, a system role) is left out from then on, and said once. Its
answers are bounded in time and size; redirects are refused, and ``GROUNDSET_API_KEY`` is sent only
to the address that the user named.
"""

import contextlib
import contextvars
import ipaddress
import json
import os
import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, wait
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

import dspy
from dspy._vendor.lm15.transports import StdlibTransport, TransportRequest, TransportResponse
from dspy.clients.engines import LM15Engine
from dspy.lm15 import Config, Message, Request, Response, RouterConfig
from dspy.utils import exceptions

from groundset import privacy
from groundset.models.texts import Completions, ControlTokens, SilentModelError, written
from groundset.programs.errors import InputError, UnreachableModelError

KEY_VARIABLE = "GROUNDSET_API_KEY"
_MAX_BYTES = 8 << 20  # of an answer; the longest completions have half a megabyte
_MAX_PAUSE = 120.0  # seconds; enough for limits per minute, but not per day
_LONGER = 20  # times as long as a greeting may take the longest answers
_GREETING = 512  # tokens; a thought about a greeting ends before
_ROOM = 4096  # tokens that a model which thinks may spend besides those of its answer
_IGNORED = 2  # times the limit of tokens that only a server writes which does not know it
_MAX_REASON = 300  # characters of a server's own message
_DROPPABLE = (
    "max_tokens",
    "temperature",
    "top_p",
    "seed",
    "stop",
    "logprobs",
    "frequency_penalty",
    "presence_penalty",
)
_NO_SYSTEM = re.compile(
    r"system.{0,3} (?:role|message|prompt|instruction)|\broles?\b.{0,160}system|roles? must"
    r" alternate|only user",
    re.I,
)
_TOO_MANY = re.compile(r"too (?:large|long|many|high)|at most|exceed|maximum", re.I)


class NoAnswerError(UnreachableModelError, exceptions.LMError):
    """A server gives no usable answers; DSPy passes it on as it is."""


class Server:
    """A model on a server; ``name`` is the server in messages."""

    def __init__(
        self,
        model: str,
        base_url: str,
        *,
        timeout: float,
        retries: int,
        notify: Callable[[str], object],
    ) -> None:
        """Make the client of a model, or of ``provider/model`` without an address; no connection is
        opened yet.

        A failure that may pass is tried again ``retries`` times; ``notify`` is called with lines
        about what is refused, waited for or tried again. ``timeout`` is how many seconds to wait
        for an answer.
        """
        self._model, self._base_url = model, base_url
        self._timeout, self._retries, self._notify = timeout, retries, notify
        host = urlsplit(base_url).hostname or ""
        self.name = urlsplit(base_url).netloc or model.partition("/")[0]
        self.is_local = bool(base_url) and _is_loopback(host)
        self._control_tokens, self._completions = ControlTokens(), Completions()
        self._refused: set[str] = set()
        self._thinks, self._room = False, _ROOM
        self._transport: _Transport | None = None
        once: dict[str, Any] = {"cache": False, "num_retries": 0}
        if not base_url:
            self._lm = dspy.LM(model, timeout=timeout, **once)
            return
        if self.is_local:
            privacy.bypass_proxies(host)
        self._transport = _Transport(self.name, timeout + 1)  # ours ends first, and says so
        # vLLM's dialect is OpenAI's with max_tokens, which every server knows.
        keys = {"vllm": _key() or "none"}
        config = RouterConfig(
            api_keys=keys, base_urls={"vllm": base_url}, transport=self._transport
        )
        self._lm = dspy.LM(f"hosted_vllm/{model}", engine=LM15Engine(config), **once)

    def check(self) -> None:
        """Ask for a few tokens about nothing, so that a wrong address, key or name shows before
        anything is written.

        Raises:
            NoAnswerError: the server does not answer, refuses the key or does not have the model.
        """
        if not self.is_local:
            self._notify(f"texts are sent to {self.name}")
        request = Request(
            model=self._lm.model, messages=(Message.user("Hi"),), config=Config(max_tokens=16)
        )
        try:
            began = time.monotonic()
            response = self._answered(request, retries=0)
            if (took := time.monotonic() - began) > max(1.0, self._timeout / _LONGER):
                self._notify(
                    f"{self.name} took {took:.0f} s to answer a greeting, and a question takes"
                    f" longer; if an answer takes more than {self._timeout:g} s, the command ends;"
                    " with a longer --timeout it goes on"
                )
            if (
                not self._begins_to_think(response)
                and response.finish_reason == "length"
                and not self._thinks
            ):
                # A template may have opened a thought: only its end tells it from an answer.
                config = replace(request.config, max_tokens=_GREETING)
                self._begins_to_think(self._answered(replace(request, config=config), retries=0))
        except exceptions.LMRateLimitError:
            pass
        except exceptions.LMError as error:
            raise self._failure(error) from error

    def complete(self, request: Request) -> Response:
        """Answer one request, with common control tokens in its texts escaped.

        Raises:
            NoAnswerError: the server gave no usable answer.
            LMError: it rejected this request.
        """
        return self._control_tokens.guard(request, self._complete)

    def _complete(self, request: Request) -> Response:
        extensions = {
            key: value
            for key, value in (request.config.extensions or {}).items()
            if key != "adapter"
        }
        request = replace(request, config=replace(request.config, extensions=extensions or None))
        try:
            response = self._answered(request, self._retries)
            if not self._thinks and self._begins_to_think(response):
                response = self._answered(request, self._retries)
            return self._completions.read(response, request.config.stop)
        except exceptions.LMInvalidRequestError as error:
            error.args = (f"{self.name} {self._reason(error)}",)
            raise (
                self._failure(error) if error.status == 404 else error
            ) from error.__cause__  # no circle
        except exceptions.LMError as error:
            raise self._failure(error) from error

    def _begins_to_think(self, response: Response) -> bool:
        """Give the model room from now on if there are thoughts in an answer; return whether there
        is nothing else.
        """
        text, thinks = written(response)
        if thinks and not self._thinks:
            self._thinks = True
            self._notify(
                f"{self.name}: {self._model} thinks before it answers; each call may take {_ROOM}"
                " tokens more"
            )
        return thinks and not text

    def _answered(self, request: Request, retries: int) -> Response:
        """Send a request until it is answered, without what the server refuses."""
        failed = 0
        while True:
            sent = self._acceptable(request)
            try:
                answer = self._ask(sent)
                if (most := sent.config.max_tokens) and (
                    answer.usage.output_tokens or 0
                ) > _IGNORED * most:
                    self._leave_out(["max_tokens"])
                return answer
            except exceptions.LMError as error:
                if self._learn(error, sent):
                    continue
                failed += 1
                if failed > retries or not exceptions.is_retryable_lm_error(error):
                    raise
                pause = min(getattr(error, "retry_after", None) or 2.0**failed, _MAX_PAUSE)
                self._notify(f"{self._failure(error)}; trying again in {pause:.0f} s")
                time.sleep(pause)

    def _acceptable(self, request: Request) -> Request:
        """Return a request without what the server has refused before, with room for thoughts."""
        config, most = request.config, request.config.max_tokens
        if self._thinks and most:
            config = replace(config, max_tokens=most + self._room, stop=())
        if "max_tokens" in self._refused:
            named = {**(config.extensions or {}), "max_completion_tokens": config.max_tokens}
            config = replace(config, extensions=named if config.max_tokens else config.extensions)
        config = replace(
            config, **{name: () if name == "stop" else None for name in self._refused - {"system"}}
        )
        if "system" in self._refused and isinstance(request.system, str) and request.messages:
            first, *others = request.messages
            merged = Message.user(f"{request.system}\n\n{first.text or ''}")
            request = replace(request, system=None, messages=(merged, *others))
        return replace(request, model=self._lm.model, config=config)

    def _learn(self, error: exceptions.LMError, sent: Request) -> bool:
        """Return whether the server refuses something that can be left out, and leave it out from
        now on.
        """
        if isinstance(error, exceptions.LMAuthError | exceptions.LMRateLimitError):
            return False
        if isinstance(error, exceptions.ContextWindowExceededError) or _TOO_MANY.search(
            error.message
        ):
            self._room //= 2
            return self._thinks and self._room > 0
        given = [name for name in _DROPPABLE if getattr(sent.config, name) not in (None, ())]
        named = [name for name in given if re.search(rf"\b{name}\b", error.message)]
        if isinstance(sent.system, str) and _NO_SYSTEM.search(error.message):
            named.append("system")
        self._leave_out(named)
        return bool(named)

    def _leave_out(self, names: Iterable[str]) -> None:
        """Leave out from now on what the server refuses or does not heed, and say so once."""
        for name in names:
            if name not in self._refused:
                self._refused.add(name)
                mend = {
                    "system": "put before the first question",
                    "max_tokens": "sent as max_completion_tokens",
                }
                self._notify(
                    f"{self.name} refuses {name}; it is {mend.get(name, 'left out')} from now on"
                )

    def _ask(self, request: Request) -> Response:
        """Send a request once, in a thread that is abandoned when the time is over."""
        answer: Future[Response] = Future()

        def run() -> None:
            try:
                # DSPy sees the outer call only; the journal keeps the answers.
                with dspy.context(
                    disable_history=True, callbacks=[], usage_tracker=None, send_stream=None
                ):
                    answer.set_result(self._lm(request))
            except BaseException as error:  # noqa: BLE001 - raised in the waiting thread
                answer.set_exception(error)

        threading.Thread(
            target=contextvars.copy_context().run, args=(run,), daemon=True, name="answer"
        ).start()
        if wait([answer], self._timeout).not_done:
            raise NoAnswerError(
                f"{self.name} did not answer within {self._timeout:g} seconds; set a longer"
                " --timeout and repeat the command: a run goes on where it ended"
            )
        response = answer.result()
        # DSPy takes any JSON for an answer, and what is no message for an empty one.
        choice = next(iter((response.provider_data or {}).get("choices") or ()), None)
        if self._base_url and not (
            isinstance(choice, dict) and isinstance(choice.get("message"), dict)
        ):
            raise NoAnswerError(
                f"{self.name} does not answer like a model server; check the address"
            )
        return response

    def _failure(self, error: exceptions.LMError) -> exceptions.LMError:
        """Return an error in one line that names the server and what to do."""
        if isinstance(error, NoAnswerError | SilentModelError):
            return error
        return NoAnswerError(f"{self.name} {self._reason(error)}")

    def _reason(self, error: exceptions.LMError) -> str:
        status, said = (
            error.status,
            privacy.without_secrets(" ".join(error.message.split()))[:_MAX_REASON],
        )
        if isinstance(error, exceptions.LMAuthError | exceptions.LMNotConfiguredError):
            variables = (
                [KEY_VARIABLE]
                if self._base_url
                else getattr(error, "env_keys", None) or ["its key"]
            )
            has_key = _key() if self._base_url else isinstance(error, exceptions.LMAuthError)
            return (
                "refuses the API key in " if has_key else "needs an API key; set "
            ) + " or ".join(variables)
        if isinstance(error, exceptions.LMBillingError | exceptions.LMRateLimitError):
            is_rate = isinstance(error, exceptions.LMRateLimitError)
            return (
                "limits the rate of requests (429)"
                if is_rate
                else "has no credit left for this API key"
            )
        if isinstance(error, exceptions.LMTransportError):
            return f"does not answer ({said}); check that the server is running, and the address"
        if status == 404:
            return (
                f"answers 404 for the model {self._model}: {said}; check its name and the address:"
                " most end in /v1"
            )
        if status and status >= 400:
            return f"answers {status}: {said}"
        return f"does not answer like a model server ({said}); check the address"

    def close(self) -> None:
        """Close the connections."""
        self._lm.close()
        if self._transport is not None:
            self._transport.close()


class _Transport(StdlibTransport):  # DSPy's own, with an end to every answer
    def __init__(self, name: str, timeout: float) -> None:
        super().__init__(read_timeout=timeout, write_timeout=timeout, pool_timeout=None)
        self._name = name

    def stream(self, request: TransportRequest) -> TransportResponse:
        answer = super().stream(request)
        if 300 <= answer.status < 400:
            answer.close()
            raise NoAnswerError(
                f"{self._name} redirects to another address; name that address if you trust it"
            )
        chunks = self._bounded(answer)
        return TransportResponse(
            status=answer.status,
            reason=answer.reason,
            headers=answer.headers,
            http_version=answer.http_version,
            chunks=iter([_with_reason(b"".join(chunks))]) if answer.status >= 400 else chunks,
            release=lambda _: answer.close(),
        )

    def _bounded(self, answer: TransportResponse) -> Iterator[bytes]:
        left = _MAX_BYTES
        for part in answer:
            left -= len(part)
            if left < 0:
                raise NoAnswerError(f"{self._name} answers with more than {_MAX_BYTES >> 20} MB")
            yield part


def _with_reason(body: bytes) -> bytes:
    """Return the body of an error with the reason where DSPy looks, without the key; servers differ
    in its place.
    """
    body = body.replace(_key().encode() or b"\0", b"(the key)")
    facts: dict[str, Any] = {}
    reason: Any = body[:_MAX_REASON].decode("utf-8", "replace")
    with contextlib.suppress(ValueError, LookupError, TypeError, AttributeError, RecursionError):
        found = json.loads(body)
        found = found[0] if isinstance(found, list) else found
        told = found.get("error") or found
        facts = told if isinstance(told, dict) else {}
        reason = facts.get("message") or facts.get("detail") or (reason if facts else told)
    if (name := str(facts.get("param") or "")) not in str(reason):
        reason = f"{reason} ({name})"
    return json.dumps({"error": {**facts, "message": str(reason)[:_MAX_REASON]}}).encode()


def _key() -> str:
    key = os.environ.get(KEY_VARIABLE, "").strip()
    if not key.isascii() or not (key or "-").isprintable():
        raise InputError(
            f"{KEY_VARIABLE} contains characters that no header can hold; set it again"
        )
    return key


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
