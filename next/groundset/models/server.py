"""A model on a server, through DSPy's own client: any OpenAI-compatible server, or a provider that DSPy knows.

What a server refuses (a parameter, a system role) is left out from then on, and said once. Its answers are bounded in
time and size; redirects are refused, and ``GROUNDSET_API_KEY`` is sent only to the address that the user named.
"""

import contextvars
import ipaddress
import json
import os
import re
import socket
import ssl
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

import dspy
import httpx
from dspy._vendor.lm15.transports import TransportResponse
from dspy.clients.engines import LM15Engine
from dspy.lm15 import Config, Message, ProviderError, Request, Response, RouterConfig, TransportError
from dspy.utils import exceptions

from groundset import privacy
from groundset.models.completions import ThinkingError, completion_text, thinks, without_thoughts
from groundset.models.control_tokens import ControlTokens
from programs.errors import InputError, UnreachableModelError

KEY_VARIABLE = "GROUNDSET_API_KEY"
_CONNECT_SECONDS = 10.0
_SLOW_SECONDS = 20.0
_MAX_BYTES = 8 << 20  # of an answer; the longest completions have half a megabyte
_MAX_PAUSE = 120.0  # seconds; enough for limits per minute, but not per day
_ROOM = 4096  # tokens that a model which thinks may spend besides those of its answer
_NAMED = 5
_MAX_REASON = 300  # characters of a server's message
_DROPPABLE = (
    *("temperature", "top_p", "seed", "stop", "frequency_penalty", "presence_penalty", "response_format"),
    "max_tokens",
)
_NO_SYSTEM = re.compile(r"system (?:role|message|prompt)|role[^.]{0,30}system|roles? must alternate|only user", re.I)


class NoAnswerError(UnreachableModelError, exceptions.LMError):
    """A server gives no usable answers; DSPy passes it on as it is."""


class _UnusableError(ProviderError):
    """An answer is not one of a model server; the message is a predicate whose subject is the server."""


class Server:
    """A model on a server.

    Attributes:
        name: the server as messages call it.
    """

    def __init__(
        self, model: str, base_url: str, *, timeout: float, retries: int, notify: Callable[[str], object]
    ) -> None:
        """Make the client; no connection is opened yet.

        Args:
            model: its name on the server, or ``provider/model`` without an address.
            base_url: the address of the server, empty for a provider.
            timeout: how many seconds to wait for an answer.
            retries: how often to ask again after a failure that may pass.
            notify: called with a line about what is refused, waited for or tried again.

        Raises:
            InputError: the key cannot be sent, or a proxy needs another package.
        """
        self._model, self._base_url = model, base_url
        self._timeout, self._retries, self._notify = timeout, retries, notify
        host = urlsplit(base_url).hostname or ""
        self.name = urlsplit(base_url).netloc or model.partition("/")[0]
        self.is_local = bool(base_url) and _is_loopback(host)
        self._control_tokens = ControlTokens()
        self._refused: set[str] = set()
        self._has_answered = self._is_slow_said = self._thinks = False
        self._lock = threading.Lock()
        self._http: httpx.Client | None = None
        once: dict[str, Any] = {"cache": False, "num_retries": 0}
        if not base_url:
            self._lm = dspy.LM(model, timeout=timeout, **once)
            return
        if self.is_local:
            privacy.bypass_proxies(host)
        self._http = _client(timeout)
        # vLLM's dialect is OpenAI's with max_tokens, which every server knows.
        config = RouterConfig(
            api_keys={"vllm": _key() or "none"}, base_urls={"vllm": base_url}, transport=_Transport(self._http)
        )
        self._lm = dspy.LM(f"hosted_vllm/{model}", engine=LM15Engine(config), **once)

    def check(self) -> None:
        """Ask for a few tokens about nothing, so that a wrong address, key or name shows before anything is written.

        Raises:
            NoAnswerError: the server does not answer, refuses the key or does not have the model.
        """
        if not self.is_local:
            self._notify(f"texts are sent to {self.name}")
        request = Request(model=self._lm.model, messages=(Message.user("Hi"),), config=Config(max_tokens=16))
        try:
            self._begins_to_think(self._answered(request, retries=0))
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
        extensions = {key: value for key, value in (request.config.extensions or {}).items() if key != "adapter"}
        request = replace(request, config=replace(request.config, extensions=extensions or None))
        try:
            response = self._answered(request, self._retries)
            if not self._thinks and self._begins_to_think(response):
                response = self._answered(request, self._retries)
            return without_thoughts(response, request.config.stop)
        except exceptions.LMInvalidRequestError as error:
            raise (self._failure(error) if error.status == 404 else error) from error
        except exceptions.LMError as error:
            raise self._failure(error) from error

    def _begins_to_think(self, response: Response) -> bool:
        """Give the model room from now on if there are thoughts in an answer; return whether there is nothing else."""
        try:
            has_text = bool(completion_text(response))
            self._thinks = thinks(response)
        except ThinkingError:
            has_text, self._thinks = False, True
        if self._thinks:
            self._notify(f"{self.name}: {self._model} thinks before it answers; each call may take {_ROOM} tokens more")
        return not has_text and self._thinks

    def _answered(self, request: Request, retries: int) -> Response:
        """Send a request until it is answered, without what the server refuses."""
        failed = 0
        while True:
            try:
                return self._ask(self._acceptable(request))
            except exceptions.LMError as error:
                if self._learn(error, request):
                    continue
                failed += 1
                if failed > retries or not exceptions.is_retryable_lm_error(error):
                    raise
                pause = min(getattr(error, "retry_after", None) or 2.0**failed, _MAX_PAUSE)
                self._notify(f"{self._failure(error)}; trying again in {pause:.0f} s")
                time.sleep(pause)

    def _acceptable(self, request: Request) -> Request:
        """Return a request without what the server has refused before, and with room for thoughts."""
        config, most = request.config, request.config.max_tokens
        if self._thinks and most:
            config = replace(config, max_tokens=most + _ROOM, stop=())
        if "max_tokens" in self._refused:
            named = {**(config.extensions or {}), "max_completion_tokens": config.max_tokens}
            config = replace(config, extensions=named if config.max_tokens else config.extensions)
        config = replace(config, **{name: () if name == "stop" else None for name in self._refused - {"system"}})
        if "system" in self._refused and isinstance(request.system, str) and request.messages:
            first, *others = request.messages
            merged = Message.user(f"{request.system}\n\n{first.text or ''}")
            request = replace(request, system=None, messages=(merged, *others))
        return replace(request, model=self._lm.model, config=config)

    def _learn(self, error: exceptions.LMError, request: Request) -> bool:
        """Return whether the server refuses something that can be left out, and leave it out from now on."""
        reason = str(error)
        given = {name for name in _DROPPABLE if getattr(request.config, name) not in (None, ())}
        named = {name for name in given if re.search(rf"\b{name}\b", reason)}
        if isinstance(request.system, str) and _NO_SYSTEM.search(reason):
            named.add("system")
        others = exceptions.LMAuthError | exceptions.LMRateLimitError | exceptions.ContextWindowExceededError
        if isinstance(error, others) or not named - self._refused:
            return False
        with self._lock:
            new = named - self._refused
            self._refused |= new
        for name in sorted(new):
            what = (
                "a system text; it is put before the first question" if name == "system" else f"{name}; it is left out"
            )
            self._notify(f"{self.name} refuses {what}")
        return True

    def _ask(self, request: Request) -> Response:
        """Send a request once, in a thread that is abandoned when the time is over."""
        answer: Future[Response] = Future()

        def run() -> None:
            try:
                # DSPy sees the outer call only; the journal keeps the answers.
                with dspy.context(disable_history=True, callbacks=[], usage_tracker=None, send_stream=None):
                    answer.set_result(self._lm(request))
            except BaseException as error:  # noqa: BLE001 - raised in the waiting thread
                answer.set_exception(error)

        threading.Thread(target=contextvars.copy_context().run, args=(run,), daemon=True, name="answer").start()
        slow = min(_SLOW_SECONDS, self._timeout)
        if wait([answer], slow).not_done:
            if not (self._has_answered or self._is_slow_said):
                self._is_slow_said = True
                self._notify(
                    f"waiting for the first answer of {self.name} since {slow:.0f} s (--timeout {self._timeout:g})"
                )
            if wait([answer], self._timeout - slow).not_done:
                raise NoAnswerError(f"{self.name} did not answer within {self._timeout:g} seconds (--timeout)")
        response = answer.result()
        self._has_answered = True
        # DSPy takes any JSON for an empty answer.
        is_answer = any((response.provider_data or {}).get("choices") or ())
        if self._base_url and not is_answer:
            raise NoAnswerError(f"{self.name} does not answer like a model server; check the address")
        return response

    def _failure(self, error: exceptions.LMError) -> exceptions.LMError:
        """Return an error in one line that names the server and what to do."""
        if isinstance(error, NoAnswerError | ThinkingError):
            return error
        return NoAnswerError(f"{self.name} {self._reason(error)}")

    def _reason(self, error: exceptions.LMError) -> str:
        status, said = error.status, privacy.without_secrets(" ".join(error.message.split()))[:_MAX_REASON]
        variables = " or ".join([KEY_VARIABLE] if self._base_url else getattr(error, "env_keys", None) or ["its key"])
        has_key = bool(_key()) if self._base_url else not isinstance(error, exceptions.LMNotConfiguredError)
        if isinstance(error, exceptions.LMAuthError | exceptions.LMNotConfiguredError):
            return f"refuses the API key in {variables}" if has_key else f"needs an API key; set {variables}"
        if isinstance(error, exceptions.LMBillingError):
            return "has no credit left for this API key"
        if isinstance(error, exceptions.LMRateLimitError):
            return "limits the rate of requests (429)"
        if isinstance(error, exceptions.LMTransportError):
            return _connection_reason(error)
        if isinstance(error, exceptions.LMUnsupportedModelError) or status == 404:
            served = self._served_models()
            if self._model not in served:
                names = ", ".join(served[:_NAMED]) + (" …" if len(served) > _NAMED else "")
                return f"has no model {self._model}" + (f"; it has {names}" if names else f" ({said})")
            return f"has no chat completions at this address ({said}); most base URLs end in /v1"
        if status == 503:
            return "is busy or still loading the model (503)"
        if status and status >= 400:
            return f"answers {status}: {said}"
        is_said = any(isinstance(cause, _UnusableError) for cause in _causes(error))
        return said if is_said else f"does not answer like a model server ({said}); check the address"

    def _served_models(self) -> list[str]:
        """Return the names of the models that the server lists, as far as it does."""
        if self._http is None:
            return []
        try:
            sent = self._http.build_request(
                "GET", f"{self._base_url}/models", headers={"Authorization": f"Bearer {_key() or 'none'}"}
            )
            models = json.loads(b"".join(_bounded(self._http.send(sent, stream=True))))["data"]
            return [str(model["id"])[:_MAX_REASON] for model in models]
        except (httpx.HTTPError, ProviderError, ValueError, KeyError, TypeError, RecursionError):
            return []

    def close(self) -> None:
        """Close the connections."""
        self._lm.close()
        if self._http is not None:
            self._http.close()


class _Transport:
    """What DSPy's client sends with: one request and one answer of limited size."""

    def __init__(self, client: httpx.Client) -> None:
        self._client = client

    def stream(self, request: Any) -> TransportResponse:
        try:
            headers = [*request.headers, ("Accept-Encoding", "identity")]
            sent = self._client.build_request(
                request.method, request.url, headers=headers, content=request.body or None
            )
            answer = self._client.send(sent, stream=True)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise TransportError(str(error) or type(error).__name__) from error
        if answer.is_redirect:
            answer.close()
            raise _UnusableError("redirects to another address; name that address if you trust it")
        chunks = _bounded(answer)
        if answer.is_error:
            chunks = iter([_with_reason(b"".join(chunks))])
        return TransportResponse(
            status=answer.status_code,
            reason=answer.reason_phrase,
            headers=list(answer.headers.multi_items()),
            http_version=answer.http_version,
            chunks=chunks,
            release=lambda _: answer.close(),
        )


def _bounded(answer: httpx.Response) -> Iterator[bytes]:
    """Yield the body of an answer, decompressed if it must be, up to a limit."""
    left = _MAX_BYTES
    coding = answer.headers.get("Content-Encoding", "identity")
    decompressor = None if coding == "identity" else zlib.decompressobj(32 + zlib.MAX_WBITS)
    try:
        for part in answer.iter_raw():
            plain = part if decompressor is None else decompressor.decompress(part, left + 1)
            left -= len(plain)
            if left < 0:
                raise _UnusableError(f"answers with more than {_MAX_BYTES >> 20} MB")
            yield plain
    except zlib.error as error:
        raise _UnusableError(f"answers in an encoding that was not asked for ({coding[:20]})") from error
    except httpx.HTTPError as error:
        raise TransportError(str(error) or type(error).__name__) from error
    finally:
        answer.close()


def _with_reason(body: bytes) -> bytes:
    """Return the body of an error with the reason where DSPy looks for it; servers put it in several places."""
    try:
        error = json.loads(body)["error"]
        if isinstance(error, dict) and error.get("message"):
            return body
    except (ValueError, KeyError, TypeError, RecursionError):
        pass
    return json.dumps({"error": {"message": body[:_MAX_REASON].decode("utf-8", "replace")}}).encode()


def _client(timeout: float) -> httpx.Client:
    try:
        return httpx.Client(
            timeout=httpx.Timeout(timeout, connect=min(timeout, _CONNECT_SECONDS)),
            # After an answer that was abandoned, a connection that is kept would give it to the next request.
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=0),
        )
    except ImportError as error:
        raise InputError("the SOCKS proxy of ALL_PROXY needs a package: pip install 'httpx[socks]'") from error


def _key() -> str:
    key = os.environ.get(KEY_VARIABLE, "").strip()
    if not key.isascii() or not (key or "-").isprintable():
        raise InputError(f"{KEY_VARIABLE} contains characters that no header can hold; set it again")
    return key


def _is_loopback(host: str) -> bool:
    """Return whether a host is this machine, by its name or address without a lookup."""
    name = host.lower().rstrip(".")
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        return False
    return (getattr(address, "ipv4_mapped", None) or address).is_loopback


def _connection_reason(error: BaseException) -> str:
    causes = list(_causes(error))
    if any(isinstance(cause, socket.gaierror) for cause in causes):
        return "is an unknown host; check the address"
    if any(isinstance(cause, ssl.SSLError) for cause in causes):
        return "has no valid certificate, or speaks http only; check the address"
    if any(isinstance(cause, httpx.ReadError | httpx.RemoteProtocolError) for cause in causes):
        return "closed the connection before it had answered, or is no HTTP server"
    return "does not answer; check that the server is running, and the address"


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
