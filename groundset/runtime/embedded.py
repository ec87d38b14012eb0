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

    llama.cpp applies the model's chat template, batches concurrent calls and keeps one prefix per slot, so that each
    step's static text is evaluated once. ``workers`` limits the concurrent calls. With one worker, a completion does
    not depend on earlier calls: weights are not repacked, because repacked kernels round differently for different
    batch sizes (measured: 5 of 32 completions changed with the order of calls, none without repacking, at the same
    speed). With more workers, throughput rises by about a quarter and texts may vary between runs. The runtime shares
    OpenMP with PyTorch, so the wait policy must be set before either is imported (:mod:`groundset.privacy`): next to
    another busy process, speed fell from 21 to 0.4 tokens a second with spinning threads, and to 14 with sleeping ones.
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
            workers: the maximum number of concurrent calls.
            context_tokens: the maximum length of prompt and completion, for each call.
            threads: processor threads; by default all that this process may use.
            adapters: files of low-rank adapters by name; the extension ``adapter`` of a call selects one.
            verbose: print llama.cpp's log to standard error.

        Raises:
            EngineError: the runtime cannot load the file.
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
        # The runtime opens a loopback port that is not used; a random key blocks other processes.
        params.api_keys = [secrets.token_urlsafe(32)]
        params.ui = False
        params.endpoint_metrics = True
        self._adapters = list(adapters or {})
        # Scale 0 until a call selects one.
        params.lora_adapters = [xllamacpp.CommonAdapterLoraInfo(str(file), 0.0) for file in (adapters or {}).values()]
        params.verbosity = 3 if verbose else 0
        self._gate = threading.BoundedSemaphore(workers)
        try:
            self._server = xllamacpp.Server(params)
        except (RuntimeError, ValueError, OSError) as error:
            raise EngineError(f"{path.name}: the embedded runtime cannot load this model: {error}") from error
        # The runtime is ready before its loop runs, and a stop in between is lost, so that closing never returns. The
        # metrics come through the queue of the loop, so it is running once they arrive.
        self._server.handle_metrics()
        self._control_tokens = ControlTokens(special_tokens(path))

    def complete(self, request: Request) -> Response:
        """Answer one request, with control tokens in its texts escaped.

        Raises:
            ContextLengthError: the prompt is too long; no token has been evaluated.
            InvalidRequestError: the runtime rejects the request.
            ServerError: the runtime crashed.
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
    """An asynchronous wrapper of a synchronous engine; each call runs in a thread."""

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
        """Do nothing: the caller closes the synchronous engine."""


def _body(request: Request, adapters: Sequence[str]) -> dict[str, Any]:
    config = request.config
    extensions = dict(config.extensions or {})
    adapter = extensions.pop("adapter", None)
    if adapter is not None and adapter not in adapters:
        raise InvalidRequestError(f"adapter {adapter} is not loaded")
    if adapters:
        extensions["lora"] = [{"id": number, "scale": float(name == adapter)} for number, name in enumerate(adapters)]
    messages = []
    if request.system is not None:
        system = request.system if isinstance(request.system, str) else "".join(p.text for p in request.system)
        messages.append({"role": "system", "content": system})
    messages.extend({"role": message.role, "content": message.text or ""} for message in request.messages)
    body: dict[str, Any] = {"messages": messages, "cache_prompt": True, **extensions}
    options = {
        "max_tokens": config.max_tokens,
        "temperature": config.temperature,
        "top_p": config.top_p,
        "top_k": config.top_k,
        "seed": config.seed,
        "presence_penalty": config.presence_penalty,
        "frequency_penalty": config.frequency_penalty,
    }
    body.update({key: value for key, value in options.items() if value is not None})
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
