"""Build and read completions: the one place where thoughts are cut off, whatever wrote them."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from dspy.lm15 import Message, Response, TokenLogprob, TopLogprob, Usage
from dspy.utils.exceptions import LMError

from programs.errors import AnswerError

_TAG = r"(?:think|thinking|thought|seed:think)"
# A template may open the thought itself, so that the completion only closes it; a limit may cut it off before its end.
_CLOSED = re.compile(rf"\A.*(?:</{_TAG}>|\[/THINK\])", re.DOTALL | re.IGNORECASE)
_OPEN = re.compile(rf"(?:<{_TAG}>|\[THINK\]).*", re.DOTALL | re.IGNORECASE)
_HIDDEN = 8  # tokens without a text that only a thought can be


class ThinkingError(AnswerError, LMError):
    """A model has thought and written nothing; the message says what to do. DSPy passes it on as it is."""


def response_of(
    model: str, parts: Any, finish_reason: Any, tokens: Sequence[int], logprobs: Iterable[tuple[str, float, Any]]
) -> Response:
    """Return a response of ``parts`` or a text.

    ``tokens`` are those of the prompt, of these the cached ones, and the generated ones; ``logprobs`` has each token
    with its logarithmic probability and pairs of those that were likely in its place.
    """
    prompt, cached, generated = tokens
    usage = {"input_tokens": prompt, "output_tokens": generated, "total_tokens": prompt + generated}
    scored = tuple(TokenLogprob(*token, top=tuple(TopLogprob(*top) for top in tops)) for *token, tops in logprobs)
    message, counts = Message.assistant(parts), Usage(**usage, cache_read_tokens=cached)
    return Response(None, model, message, finish_reason, usage=counts, logprobs=scored or None)


def completion_text(response: Response) -> str:
    """Return what a model has written, without its thoughts, which servers send beside the text or within it.

    Raises:
        ThinkingError: nothing is left but thoughts, or the limit of tokens was reached before the first word.
    """
    parts = response.message.parts
    written = "\n".join(part.text for part in parts if part.type == "text")
    text = _OPEN.sub("", _CLOSED.sub("", written)).strip()
    has_thought, tokens = thinks(response), response.usage.output_tokens or 0
    is_cut_off = response.finish_reason == "length" and tokens >= _HIDDEN
    if text or not (has_thought or (is_cut_off and not written)):
        return text if has_thought else written
    spent = f" in {tokens} tokens" if tokens else ""
    raise ThinkingError(
        f"the model has only thought and written nothing{spent}; name a model that does not think (tagged instruct), "
        "or turn its thinking off (vLLM, SGLang: --default-chat-template-kwargs '{\"enable_thinking\": false}'; "
        "llama-server: --reasoning-budget 0), or give steps more max_tokens"
    )


def thinks(response: Response) -> bool:
    """Return whether there are thoughts in a response."""
    parts = response.message.parts
    return bool(response.usage.reasoning_tokens) or any(
        part.type == "thinking" or (part.type == "text" and (_CLOSED.search(part.text) or _OPEN.search(part.text)))
        for part in parts
    )


def without_thoughts(response: Response, stop: Sequence[str] = ()) -> Response:
    """Return a response that holds the written text only, up to the first of ``stop``; see :func:`completion_text`.

    Tool calls and other parts stay as they are.
    """
    if any(part.type not in ("text", "thinking") for part in response.message.parts):
        return response
    text = completion_text(response)
    end = min((place for mark in stop if (place := text.find(mark)) >= 0), default=len(text))
    return replace(response, message=Message.assistant(text[:end]))
