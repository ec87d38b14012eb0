"""llama.cpp in this process."""

import secrets
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dspy import lm15
from dspy.clients.engines.base import validate_request

from groundset.bounded import usable_processors
from groundset.models.texts import Completions, ControlTokens, response_of, special_tokens
from groundset.programs.errors import ModelError

_SLOTS = 8
_SAMPLING = (
    "max_tokens",
    "temperature",
    "top_p",
    "top_k",
    "seed",
    "presence_penalty",
    "frequency_penalty",
)
# Templates of models that think by default have this switch.
_NO_THOUGHTS = {"chat_template_kwargs": {"enable_thinking": False}}


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
        adapters: Mapping[str, Path] | None = None,
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
        self._adapters = list(adapters or {})
        # Scale 0 until a call selects one.
        params.lora_adapters = [
            xllamacpp.CommonAdapterLoraInfo(str(file), 0.0) for file in (adapters or {}).values()
        ]
        params.verbosity = 3 if verbose else 0
        self._gate = threading.BoundedSemaphore(workers)
        try:
            self._server = xllamacpp.Server(params)
        except (RuntimeError, ValueError, OSError) as error:
            raise ModelError(f"{path.name}: llama.cpp cannot load this model: {error}") from error
        # The runtime is ready before its loop runs, and a stop in between is lost, so that closing
        # never returns. The metrics come through the queue of the loop, so it is running once they
        # arrive.
        self._server.handle_metrics()
        self._control_tokens, self._completions = ControlTokens(special_tokens(path)), Completions()

    def complete(self, request: lm15.Request) -> lm15.Response:
        """Answer one request, with control tokens in its texts escaped.

        Raises:
            ContextLengthError: the prompt is too long; no token has been evaluated.
            InvalidRequestError: the runtime rejects the request.
            ServerError: the runtime crashed.
        """
        return self._control_tokens.guard(request, self._complete)

    def _complete(self, request: lm15.Request) -> lm15.Response:
        body = _body(request, self._adapters)
        with self._gate:
            try:
                reply = self._server.handle_chat_completions(body)
            except ValueError as error:
                raise lm15.InvalidRequestError(str(error)) from error
            except RuntimeError as error:
                raise lm15.ServerError(f"llama.cpp crashed: {error}") from error
        if "error" in reply:
            raise _error(reply["error"])
        return self._completions.read(_response(reply, request.model))

    def close(self) -> None:
        """Free the model's memory."""
        del self._server


def _body(request: lm15.Request, adapters: Sequence[str]) -> dict[str, Any]:
    """Return a request as llama.cpp's chat completions take it."""
    validate_request(request)
    config = request.config
    if request.tools:
        raise lm15.UnsupportedFeatureError("models in this process have no tools")
    extensions = dict(config.extensions or {})
    adapter = extensions.pop("adapter", None)
    if adapter is not None and adapter not in adapters:
        raise lm15.InvalidRequestError(
            f"the model has no adapter {adapter}; it has {', '.join(adapters) or 'none'}"
        )
    if adapters:
        extensions["lora"] = [
            {"id": number, "scale": float(name == adapter)} for number, name in enumerate(adapters)
        ]
    messages = []
    if request.system is not None:
        system = (
            request.system
            if isinstance(request.system, str)
            else "".join(p.text for p in request.system)
        )
        messages.append({"role": "system", "content": system})
    messages.extend(
        {"role": message.role, "content": message.text or ""} for message in request.messages
    )
    options = {
        name: value
        for name in (*_SAMPLING, "response_format")
        if (value := getattr(config, name)) is not None
    }
    stop = {"stop": list(config.stop)} if config.stop else {}
    if config.logprobs is not None:
        options |= {"logprobs": True, "top_logprobs": config.logprobs}
    return {
        "messages": messages,
        "cache_prompt": True,
        **_NO_THOUGHTS,
        **options,
        **stop,
        **extensions,
    }


def _error(error: Mapping[str, Any]) -> lm15.LM15Error:
    message = str(error.get("message", error))
    if error.get("type") == "exceed_context_size_error":
        return lm15.ContextLengthError(message)
    if error.get("code", 500) < 500:
        return lm15.InvalidRequestError(message)
    return lm15.ServerError(f"llama.cpp failed: {message}")


def _response(reply: Mapping[str, Any], model: str) -> lm15.Response:
    choice, usage = reply["choices"][0], reply["usage"]
    thought, text = (choice["message"].get(name) or "" for name in ("reasoning_content", "content"))
    parts = [*([lm15.ThinkingPart(thought)] if thought else ()), lm15.TextPart(text)]
    cached = (usage.get("prompt_tokens_details") or {}).get("cached_tokens", 0)
    logprobs = (
        (
            token["token"],
            token["logprob"],
            [(top["token"], top["logprob"]) for top in token["top_logprobs"]],
        )
        for token in (choice.get("logprobs") or {}).get("content", ())
    )
    finish_reason = "length" if choice["finish_reason"] == "length" else "stop"
    tokens = (usage["prompt_tokens"], cached, usage["completion_tokens"])
    return response_of(model, parts, finish_reason, tokens, logprobs)
