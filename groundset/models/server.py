"""A model on a server, through DSPy's own client: any OpenAI-compatible server, or a provider that
DSPy knows.

What a server refuses (a parameter, a system role) is left out from then on, and said once. Its
answers are bounded in time and size; redirects are refused, and ``GROUNDSET_API_KEY`` is sent only
to the address that the user named.
"""

import contextlib
import json
import os
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

import dspy
from dspy._vendor.lm15.transports import (
    ReadTimeout,
    StdlibTransport,
    TransportRequest,
    TransportResponse,
)
from dspy.clients.engines import LM15Engine
from dspy.lm15 import Config, Message, Request, Response, RouterConfig
from dspy.utils import exceptions

from groundset import privacy
from groundset.models.dialect import Dialect
from groundset.models.texts import ControlTokens, completed
from groundset.programs.errors import UnreachableModelError

KEY_VARIABLE = "GROUNDSET_API_KEY"
_MAX_BYTES = 8 << 20  # of an answer; the longest completions have half a megabyte
_MAX_PAUSE = 120.0  # seconds; enough for limits per minute, but not per day
_GREETING = 512  # tokens; a thought about a greeting ends before
_MAX_REASON = 300  # characters of a server's own message
# Reasons for which a server ends an answer that is not the model's; their spelling differs.
_FILTERED = re.compile(r"filter|safety|blocked|prohibited|error", re.IGNORECASE)
_MENDS = {
    401: f"; set the API key in {KEY_VARIABLE}",
    404: "; check the name of the model and the address: most end in /v1",
}


class NoAnswerError(UnreachableModelError, exceptions.LMError):
    """A server gives no usable answers; DSPy passes it on as it is."""


class UnansweredError(exceptions.LMInvalidRequestError):
    """A server does not answer one prompt, though it may answer others."""


# What every request would get.
_LASTING = (
    exceptions.LMBillingError,
    exceptions.LMConfigurationError,
    exceptions.LMRateLimitError,
    exceptions.LMTransportError,
)


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
        self._base_url, self._retries, self._notify = base_url, retries, notify
        host = urlsplit(base_url).hostname or ""
        self.name = urlsplit(base_url).netloc or model.partition("/")[0]
        self.is_local = host in privacy.LOOPBACK
        self._control_tokens = ControlTokens()
        self._dialect = Dialect(self.name, model, notify)
        once: dict[str, Any] = {"cache": False, "num_retries": 0}
        if not base_url:
            self._lm = dspy.LM(model, timeout=timeout, **once)
            return
        if self.is_local:
            privacy.bypass_proxies(host)
        # vLLM's dialect is OpenAI's with max_tokens, which every server knows.
        config = RouterConfig(
            api_keys={"vllm": _key() or "none"},
            base_urls={"vllm": base_url},
            transport=_Transport(self.name, timeout),
        )
        self._lm = dspy.LM(f"hosted_vllm/{model}", engine=LM15Engine(config), **once)

    def check(self) -> None:
        """Greet the model, so that a wrong address, key or name shows before anything is written.

        Raises:
            NoAnswerError: the server does not answer, refuses the key or does not have the model.
        """
        if not self.is_local:
            self._notify(f"texts are sent to {self.name}")
        config = Config(max_tokens=_GREETING)
        greeting = Request(self._lm.model, (Message.user("Hi"),), config=config)
        try:
            # A template may have opened a thought: only its end tells it from an answer.
            self._dialect.finds_thoughts(self._answered(greeting, retries=0))
        except exceptions.LMRateLimitError:
            pass
        except exceptions.LMError as error:
            raise NoAnswerError(str(self._explained(error))) from error

    def complete(self, request: Request) -> Response:
        """Answer one request, with common control tokens in its texts escaped.

        Raises:
            NoAnswerError: the server gave no usable answer, and would give none to another request.
            LMInvalidRequestError: it gave none to this one.
        """
        return self._control_tokens.guard(request, self._complete)

    def _complete(self, request: Request) -> Response:
        extensions = dict(request.config.extensions or {})
        extensions.pop("adapter", None)
        request = replace(request, config=replace(request.config, extensions=extensions or None))
        try:
            response = self._answered(request, self._retries)
            if self._dialect.finds_thoughts(response):
                response = self._answered(request, self._retries)
        except exceptions.LMError as error:
            raise self._explained(error) from error
        return completed(response, request.config.stop)

    def _answered(self, request: Request, retries: int) -> Response:
        """Send a request until it is answered, without what the server refuses."""
        failures = 0
        while True:
            sent = replace(self._dialect.render(request), model=self._lm.model)
            try:
                # DSPy sees the outer call only; the journal keeps the answers.
                with dspy.context(
                    disable_history=True, callbacks=[], usage_tracker=None, send_stream=None
                ):
                    response: Response = self._lm(sent)
            except exceptions.LMError as error:
                if self._dialect.learn(error, sent):
                    continue
                failures += 1
                if failures > retries or not exceptions.is_retryable_lm_error(error):
                    raise
                pause = min(getattr(error, "retry_after", None) or 2.0**failures, _MAX_PAUSE)
                self._notify(f"{self._explained(error)}; trying again in {pause:.0f} s")
                time.sleep(pause)
            else:
                self._check_answer(response)
                return response

    def _check_answer(self, response: Response) -> None:
        """Raise ``UnansweredError`` if an answer is no message of the model.

        DSPy takes any JSON for an answer, and what is no message for an empty one.
        """
        choice: Any = {"message": {}, "finish_reason": response.finish_reason}
        if self._base_url:
            choices = (response.provider_data or {}).get("choices")
            choice = choices[0] if choices and isinstance(choices[0], dict) else {}
        end = str(choice.get("finish_reason"))
        refusals = [part.text for part in response.message.parts if part.type == "refusal"]
        if refusals or _FILTERED.search(end):
            raise UnansweredError(f"did not answer this prompt ({'; '.join(refusals) or end})")
        if not isinstance(choice.get("message"), dict):
            raise UnansweredError(
                "did not answer this prompt (no message: filtered, or no model server)"
            )

    def _explained(self, error: exceptions.LMError) -> exceptions.LMError:
        """Return an error in one line that names the server and what to do."""
        if isinstance(error, NoAnswerError):
            return error
        # What follows is DSPy's advice to programmers.
        said = privacy.without_secrets(error.message.strip().partition("\n")[0])[:_MAX_REASON]
        if error.status:
            mend = _MENDS.get(error.status, "") if self._base_url else ""
            said = f"answers {error.status}: {said}{mend}"
        elif isinstance(error, exceptions.LMConfigurationError):
            said = f"cannot be asked: {said}"
        elif not isinstance(error, UnansweredError):
            said = f"does not answer like a model server ({said}); check that one runs there"
        if isinstance(error, exceptions.ContextWindowExceededError):
            return exceptions.ContextWindowExceededError(message=f"{self.name} {said}")
        is_lasting = error.status in _MENDS or isinstance(error, _LASTING)
        return (NoAnswerError if is_lasting else UnansweredError)(f"{self.name} {said}")

    def close(self) -> None:
        """Close the connections."""
        self._lm.close()


class _Transport(StdlibTransport):  # DSPy's own, with an end to every answer
    def __init__(self, name: str, timeout: float) -> None:
        super().__init__(read_timeout=timeout, write_timeout=timeout, pool_timeout=None)
        self._name, self._timeout = name, timeout

    def stream(self, request: TransportRequest) -> TransportResponse:
        until = time.monotonic() + self._timeout
        try:
            answer = super().stream(request)
            if 300 <= answer.status < 400:
                answer.close()
                raise NoAnswerError(
                    f"{self._name} redirects to another address; name that address if you trust it"
                )
            status, body = _with_reason(answer.status, b"".join(self._bounded(answer, until)))
        except ReadTimeout as error:
            raise self._late() from error
        return TransportResponse(
            status=status,
            reason=answer.reason,
            headers=answer.headers,
            http_version=answer.http_version,
            chunks=iter([body]),
            release=lambda _: answer.close(),
        )

    def _bounded(self, answer: TransportResponse, until: float) -> Iterator[bytes]:
        left = _MAX_BYTES
        for part in answer:
            left -= len(part)
            if left < 0:
                raise NoAnswerError(f"{self._name} answers with more than {_MAX_BYTES >> 20} MB")
            if time.monotonic() > until:
                raise self._late()
            yield part

    def _late(self) -> NoAnswerError:
        return NoAnswerError(
            f"{self._name} did not answer within {self._timeout:g} seconds; set a longer"
            " --timeout and repeat the command: a run goes on where it ended"
        )


def _with_reason(status: int, body: bytes) -> tuple[int, bytes]:
    """Return the status and the body of an answer: of an error, which some servers send with 200,
    with the reason where DSPy looks, without the key; servers differ in its place.
    """
    content: Any = None
    with contextlib.suppress(ValueError, RecursionError):
        content = json.loads(body)
    content = content[0] if isinstance(content, list) and content else content
    content = content if isinstance(content, dict) else {}
    error = content.get("error") or (content if status >= 400 else {})
    if status < 400 and not error:
        return status, body
    facts = error if isinstance(error, dict) else {"message": error}
    if status < 400:
        code = str(facts.get("code"))
        status = int(code) if re.fullmatch(r"[45]\d\d", code) else 500
    said = body.decode("utf-8", "replace")
    reason = " ".join(str(facts.get("message") or facts.get("detail") or said).split())
    if (name := str(facts.get("param") or "")) not in reason:
        reason = f"{reason} ({name})"
    # Of an error only: in an answer, a key such as "x" or "EMPTY" is a word of the model.
    reason = reason.replace(_key() or "\0", "(the key)")
    return status, json.dumps({"error": {**facts, "message": reason[:_MAX_REASON]}}).encode()


def _key() -> str:
    return os.environ.get(KEY_VARIABLE, "").strip()
