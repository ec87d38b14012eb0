"""llama.cpp in this process."""

import json
import secrets
import threading
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from dspy import lm15
from dspy.clients.engines.base import validate_request

from groundset.bounded import usable_processors
from groundset.models.texts import ControlTokens, completed, special_tokens
from groundset.programs.errors import ModelError

_SLOTS = 8
# Templates of models that think by default have this switch.
_OPTIONS = {"cache_prompt": True, "chat_template_kwargs": {"enable_thinking": False}}
_ERRORS = {
    "exceed_context_size_error": lm15.ContextLengthError,
    "invalid_request_error": lm15.InvalidRequestError,
}


class LlamaModel:
    """One GGUF model in this process.

    llama.cpp applies the model's chat template, batches concurrent calls and keeps one prefix per
    slot, so that each step's static text is evaluated once. ``workers`` limits the concurrent
    calls. With one worker, a completion does not depend on earlier calls: weights are not repacked,
    because repacked kernels round differently for different batch sizes (measured: 5 of 32
    completions changed with the order of calls, none without repacking, at the same speed). With
    more workers, throughput rises by about a quarter and texts may vary between runs. The runtime
    shares OpenMP with PyTorch, so the wait policy must be set before either is imported
    (:mod:`groundset.privacy`): next to another busy process, speed fell from 21 to 0.4 tokens a
    second with spinning threads, and to 14 with sleeping ones.
    """

    def __init__(
        self,
        path: Path,
        *,
        workers: int = 1,
        context_tokens: int = 4096,
        adapters: Mapping[str, Path] = MappingProxyType({}),
        verbose: bool = False,
    ) -> None:
        """Load the weights.

        ``context_tokens`` is the maximum length of prompt and completion of each call. The
        extension ``adapter`` of a call selects one of the low-rank ``adapters``; ``verbose`` prints
        llama.cpp's log to standard error.

        Raises:
            ModelError: the runtime cannot load the file.
        """
        import xllamacpp

        slots = max(_SLOTS, workers)
        params = xllamacpp.CommonParams()
        params.model.path = str(path)
        params.n_ctx = context_tokens * slots
        params.n_parallel = slots
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = usable_processors()
        params.no_extra_bufts = True
        params.cache_ram_mib = 0
        # The runtime opens a loopback port that is not used; a random key blocks other processes.
        params.api_keys = [secrets.token_urlsafe(32)]
        params.ui = False
        params.endpoint_metrics = True
        self._adapters = list(adapters)
        # Scale 0 until a call selects one.
        params.lora_adapters = [
            xllamacpp.CommonAdapterLoraInfo(str(file), 0.0) for file in adapters.values()
        ]
        params.verbosity = 3 if verbose else 0
        # vLLM's dialect is OpenAI's with max_tokens.
        self._dialect = lm15.OpenAIChatLM(api_key="none", compat="vllm")
        self._gate = threading.BoundedSemaphore(workers)
        try:
            self._server = xllamacpp.Server(params)
        except (RuntimeError, ValueError, OSError) as error:
            raise ModelError(f"{path.name}: llama.cpp cannot load this model: {error}") from error
        # The runtime is ready before its loop runs, and a stop in between is lost, so that closing
        # never returns. The metrics come through the queue of the loop, so it is running once they
        # arrive.
        self._server.handle_metrics()
        self._control_tokens = ControlTokens(special_tokens(path))

    def complete(self, request: lm15.Request) -> lm15.Response:
        """Answer one request, with control tokens in its texts escaped.

        Raises:
            ContextLengthError: the prompt is too long; no token has been evaluated.
            InvalidRequestError: the runtime rejects the request.
            ServerError: the runtime crashed.
        """
        return self._control_tokens.guard(request, self._complete)

    def _complete(self, request: lm15.Request) -> lm15.Response:
        body = self._body(request)
        with self._gate:
            try:
                reply = self._server.handle_chat_completions(body)
            except ValueError as error:
                raise lm15.InvalidRequestError(str(error)) from error
            except RuntimeError as error:
                raise lm15.ServerError(f"llama.cpp crashed: {error}") from error
        if fault := reply.get("error"):
            kind = _ERRORS.get(fault["type"], lm15.ServerError)
            raise kind(f"llama.cpp: {fault['message']}")
        return completed(lm15.response_from_openai_chat({**reply, "model": request.model}))

    def _body(self, request: lm15.Request) -> dict[str, Any]:
        """Return a request as llama.cpp's chat completions take it."""
        validate_request(request)
        if request.tools:
            raise lm15.UnsupportedFeatureError("models in this process have no tools")
        options = {**_OPTIONS, "top_k": request.config.top_k, **(request.config.extensions or {})}
        adapter = options.pop("adapter", None)
        if adapter is not None and adapter not in self._adapters:
            known = ", ".join(self._adapters) or "none"
            raise lm15.InvalidRequestError(f"the model has no adapter {adapter}; it has {known}")
        if self._adapters:
            options["lora"] = [
                {"id": number, "scale": float(name == adapter)}
                for number, name in enumerate(self._adapters)
            ]
        config = replace(request.config, extensions=options)
        asked = self._dialect.build_request(replace(request, config=config), stream=False)
        body: dict[str, Any] = json.loads(asked.body)
        return body

    def close(self) -> None:
        """Free the model's memory."""
        del self._server
