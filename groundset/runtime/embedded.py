"""The embedded engine: llama.cpp in this process behind DSPy's engine interface."""

import asyncio
import secrets
import threading
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from dspy.clients.engines.base import validate_request
from dspy.lm15 import (
    ContextLengthError,
    InvalidRequestError,
    LM15Error,
    Message,
    Request,
    Response,
    ServerError,
    TokenLogprob,
    TopLogprob,
    Usage,
    response_to_events,
)

from groundset.processors import usable_processors
from groundset.runtime.control_tokens import ControlTokens
from groundset.runtime.gguf_header import special_tokens
from programs.errors import EngineError

CONTEXT_TOKENS = 4096
SLOTS = 8


class EmbeddedEngine:
    """Serve one GGUF model from this process.

    llama.cpp applies the model's chat template, batches calls in flight and keeps one prefix per slot, so
    that each step's static text stays evaluated. ``workers`` bounds the calls in flight. With one worker
    the text of a call does not depend on the calls before it: weights are not repacked, because repacked
    kernels round differently for different batch sizes (measured: 5 of 32 completions changed with the
    order of calls, none without repacking, at the same speed). With more, throughput rises by about a
    quarter and texts may vary from run to run. The runtime shares its OpenMP with PyTorch, so the waiting policy
    must be set before either is imported (:mod:`groundset.privacy`): spinning threads fell from 21 to 0.4 tokens
    a second beside another busy process, sleeping ones to 14.
    """

    def __init__(
        self,
        path: Path,
        *,
        workers: int = 1,
        context_tokens: int = CONTEXT_TOKENS,
        threads: int | None = None,
        adapters: Mapping[str, Path] | None = None,
        verbose: bool = False,
    ) -> None:
        """Load the weights.

        Args:
            path: the GGUF file.
            workers: calls in flight.
            context_tokens: prompt and completion together, for each call.
            threads: processor threads; all that this process may use by default.
            adapters: files of low-rank adapters by name. A call uses the one that its extension ``adapter`` names,
                and none without it.
            verbose: let llama.cpp's log through to standard error.

        Raises:
            EngineError: if the runtime cannot load the file.
        """
        import xllamacpp

        threads = threads or usable_processors()
        slots = max(SLOTS, workers)
        params = xllamacpp.CommonParams()
        params.model.path = str(path)
        params.n_ctx = context_tokens * slots
        params.n_parallel = slots
        params.cpuparams.n_threads = threads
        params.cpuparams_batch.n_threads = threads
        params.no_extra_bufts = True
        params.cache_ram_mib = 0
        # The runtime opens a loopback port that nothing here uses: a random key keeps others out of it.
        params.api_keys = [secrets.token_urlsafe(32)]
        params.ui = False
        params.endpoint_metrics = True
        self._adapters = list(adapters or {})
        # At no strength until a call asks for one.
        params.lora_adapters = [xllamacpp.CommonAdapterLoraInfo(str(file), 0.0) for file in (adapters or {}).values()]
        params.verbosity = 3 if verbose else 0
        self._gate = threading.BoundedSemaphore(workers)
        try:
            self._server = xllamacpp.Server(params)
        except (RuntimeError, ValueError, OSError) as error:
            raise EngineError(f"{path.name}: the embedded runtime cannot load this model: {error}") from error
        # The runtime reports itself ready before its loop runs, and a stop that arrives in between is lost: closing
        # then waits for ever. The figures come through the loop's queue, so that it runs once they are here.
        self._server.handle_metrics()
        self._control_tokens = ControlTokens(special_tokens(path))

    def complete(self, request: Request) -> Response:
        """Answer one request; no text in it is read as a control token.

        Raises:
            ContextLengthError: if the prompt does not fit; no token has been evaluated then.
            InvalidRequestError: if the runtime refuses the request.
            ServerError: if the runtime crashed.
        """
        return self._control_tokens.guard(request, self._complete)

    def _complete(self, request: Request) -> Response:
        validate_request(request)
        with self._gate:
            try:
                reply = self._server.handle_chat_completions(_body(request, self._adapters))
            except ValueError as error:
                raise InvalidRequestError(str(error)) from error
            except RuntimeError as error:
                raise ServerError(f"the embedded runtime crashed: {error}") from error
        if "error" in reply:
            raise _error_from(reply["error"])
        return _response_from(reply, request.model)

    def stream(self, request: Request) -> Iterator[Any]:
        """Answer one request as DSPy stream events, in one piece."""
        return iter(response_to_events(self.complete(request)))

    def close(self) -> None:
        """Free the model's memory."""
        del self._server


class AsyncEngine:
    """The asynchronous counterpart of any synchronous engine: each call waits in a thread."""

    def __init__(self, engine: Any) -> None:
        self._engine = engine

    async def complete(self, request: Request) -> Response:
        """Answer one request."""
        response: Response = await asyncio.to_thread(self._engine.complete, request)
        return response

    async def stream(self, request: Request) -> AsyncIterator[Any]:
        """Answer one request as DSPy stream events, in one piece."""
        for event in response_to_events(await self.complete(request)):
            yield event

    async def aclose(self) -> None:
        """Do nothing: the synchronous engine belongs to whoever opened it."""


def _body(request: Request, adapters: Sequence[str]) -> dict[str, Any]:
    config = request.config
    extensions = dict(config.extensions or {})
    wanted = extensions.pop("adapter", None)
    if wanted is not None and wanted not in adapters:
        raise InvalidRequestError(f"no adapter {wanted} is loaded")
    if adapters:
        extensions["lora"] = [{"id": number, "scale": float(name == wanted)} for number, name in enumerate(adapters)]
    messages = []
    if request.system is not None:
        system = request.system if isinstance(request.system, str) else "".join(p.text for p in request.system)
        messages.append({"role": "system", "content": system})
    messages.extend({"role": message.role, "content": message.text or ""} for message in request.messages)
    body: dict[str, Any] = {"messages": messages, "cache_prompt": True, **extensions}
    named = {
        "max_tokens": config.max_tokens,
        "temperature": config.temperature,
        "top_p": config.top_p,
        "top_k": config.top_k,
        "seed": config.seed,
        "presence_penalty": config.presence_penalty,
        "frequency_penalty": config.frequency_penalty,
    }
    body.update({key: value for key, value in named.items() if value is not None})
    if config.stop:
        body["stop"] = list(config.stop)
    if config.logprobs is not None:
        body["logprobs"] = True
        body["top_logprobs"] = config.logprobs
    return body


def _error_from(error: dict[str, Any]) -> LM15Error:
    message = str(error.get("message", error))
    if error.get("type") == "exceed_context_size_error":
        return ContextLengthError(message)
    if error.get("code", 500) < 500:
        return InvalidRequestError(message)
    return ServerError(f"the embedded runtime failed: {message}")


def _response_from(reply: dict[str, Any], model: str) -> Response:
    choice = reply["choices"][0]
    usage = reply["usage"]
    logprobs = None
    if choice.get("logprobs"):
        logprobs = tuple(
            TokenLogprob(
                token=token["token"],
                logprob=float(token["logprob"]),
                top=tuple(
                    TopLogprob(token=top["token"], logprob=float(top["logprob"])) for top in token["top_logprobs"]
                ),
            )
            for token in choice["logprobs"]["content"]
        )
    return Response(
        id=None,
        model=model,
        message=Message.assistant(choice["message"].get("content") or ""),
        finish_reason="length" if choice["finish_reason"] == "length" else "stop",
        usage=Usage(
            input_tokens=usage["prompt_tokens"],
            output_tokens=usage["completion_tokens"],
            total_tokens=usage["total_tokens"],
            cache_read_tokens=(usage.get("prompt_tokens_details") or {}).get("cached_tokens", 0),
        ),
        logprobs=logprobs,
    )
