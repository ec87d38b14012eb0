"""Texts that go to a model and come back: control tokens are escaped, and thoughts are cut off,
whatever wrote them.

Tokenizers convert ``<|im_end|>`` anywhere in a text to the token that ends a turn, so that
documents could end or start one. So control tokens in every request get a space after their first
character: ``< |im_end|>`` is ordinary text. In completions the original spelling is restored, so
that answers are found in their passages. llama.cpp's Python reader of files is not used, because it
takes seconds at each start; the format is simple and fixed.
"""

import re
import struct
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any

from dspy.lm15 import Message, Request, Response
from dspy.utils.exceptions import LMInvalidRequestError

from groundset.programs.errors import UnknownModelError

# For models whose tokens are unknown: those of widely used families. Most are spelt <|name|>, with
# wide bars (DeepSeek) or in square brackets (EXAONE).
_FAMILIES = (
    r"<[|｜][^\s<>|｜]{1,60}[|｜]>|\[\|[^\s\[\]|]{1,60}\|\]|<\|[^\s<>|]{1,60}>|<[^\s<>|]{1,60}\|>"
)
COMMON_TOKENS = re.findall(
    r"\S+",
    "<s> </s> <unk> <pad> <bos> <eos> <mask> [INST] [/INST] <<SYS>> <</SYS>> [TOOL_CALLS]"
    " [TOOL_RESULTS] [/TOOL_RESULTS] [AVAILABLE_TOOLS] [/AVAILABLE_TOOLS] [SYSTEM_PROMPT]"
    " [/SYSTEM_PROMPT] [THINK] [/THINK] [IMG] [gMASK] ]~b] ]~!b[ [e~[ <start_of_turn>"
    " <end_of_turn> <start_of_image> <end_of_image> <seed:bos> <seed:eos> <think> </think>"
    " <seed:think> </seed:think> <tool_call> </tool_call> <tool_response> </tool_response>"
    " <fim_prefix> <fim_middle> <fim_suffix> <fim_pad> <repo_name> <reponame> <file_sep>"
    " <filename> <gh_stars> <sop> <eop>",
)
_ARRAY = 9  # the kind of a value that is a list
# Unknown, control and user-defined tokens, which llama.cpp searches for in a text first.
_SPECIAL = frozenset({2, 3, 4})
# Marks of thoughts: tags, also with a name before (seed:think), and channels of gpt-oss and Gemma.
_TAG = r"(?:\w+[:_])?(?:ant)?(?:think|thinking|thoughts?|reasoning)"
_END = rf"</{_TAG}>|\[/THINK\]|◁/think▷|<\|channel\|>final[^<]*<\|message\|>|<channel\|>"
_BEGIN = rf"<{_TAG}>|\[THINK\]|◁think▷|<\|channel\|?>(?:analysis|commentary|thought)"
# Other tags are marks where a text begins with them only.
_OTHER = r"\s*<(?P<tag>\w*(?:analysis|reason|reflect|scratchpad|monologue)\w*)>"
# A template may open the thought itself, so that the completion only closes it; a limit may cut it
# off before its end. Servers that drop control tokens leave "analysis" and "assistantfinal" of the
# channels; Granite thinks in words.
_CLOSED = re.compile(
    rf"\A(?:.*(?:{_END})|{_OTHER}.*</(?P=tag)>|analysis.*assistantfinal|"
    r"\s*Here(?:'s| is) my thought process:.*Here(?:'s| is) my response:)",
    re.DOTALL | re.IGNORECASE,
)
_OPEN = re.compile(
    rf"(?:{_BEGIN}|\A{_OTHER}|\Aanalysis(?-i:(?=[A-Z]))).*", re.DOTALL | re.IGNORECASE
)
_ENDS = re.compile(r"<\|(?:return|end|call)\|>\s*\Z")
_WRAPPED = re.compile(
    r"\A\s*<(answer|output|response|result|final)>(.*?)(?:</\1>\s*)?\Z", re.DOTALL | re.IGNORECASE
)
_HIDDEN = 8  # tokens without a text that only a thought can be
_MEND = (
    "name a model that does not think (tagged instruct), or turn its thinking off (vLLM, SGLang:"
    " `--default-chat-template-kwargs '{\"enable_thinking\": false}'`; llama-server:"
    " `--reasoning-budget 0`), or give steps more max_tokens in a compiled state; if it does not"
    " think, check its chat template"
)


class ControlTokens:
    """The control tokens to escape: common ones, and those of a model if they are known."""

    def __init__(self, model_tokens: Iterable[str] = ()) -> None:
        """Add the model's tokens, except single characters and white space."""
        tokens = {
            token.strip()
            for token in (*COMMON_TOKENS, *model_tokens)
            if len(token.strip(" \t\r\n▁")) > 1
        }
        longest_first = sorted(tokens, key=lambda token: (-len(token), token))
        self._pattern = re.compile("|".join((*map(re.escape, longest_first), _FAMILIES)))

    def escape(self, text: str, seen: dict[str, str] | None = None) -> str:
        """Return a text with escaped control tokens; ``seen`` collects the originals by escaped
        token.
        """

        def split(match: re.Match[str]) -> str:
            escaped = f"{match[0][0]} {match[0][1:]}"
            if seen is not None:
                seen.setdefault(escaped, match[0])
            return escaped

        count = 1
        while count:  # the rest of a token may contain another one
            text, count = self._pattern.subn(split, text)
        return text

    def guard(self, request: Request, complete: Callable[[Request], Response]) -> Response:
        """Answer a request with ``complete``, which gets it with escaped control tokens."""
        seen: dict[str, str] = {}
        escape = partial(self.escape, seen=seen)
        system: Any = request.system
        if system is not None:
            system = escape(system) if isinstance(system, str) else _rewritten(system, escape)
        messages = tuple(
            replace(message, parts=_rewritten(message.parts, escape))
            for message in request.messages
        )
        response = complete(replace(request, system=system, messages=messages))

        def restored(text: str) -> str:
            # The last first, because one may be part of another.
            for escaped, token in reversed(seen.items()):
                text = text.replace(escaped, token)
            return text

        message = response.message
        return replace(
            response, message=replace(message, parts=_rewritten(message.parts, restored))
        )


def _rewritten(parts: Any, rewrite: Callable[[str], str]) -> tuple[Any, ...]:
    return tuple(
        replace(part, text=rewrite(part.text)) if part.type == "text" else part for part in parts
    )


def special_tokens(path: Path) -> tuple[str, ...]:
    """Return the special tokens of a model, which its tokenizer recognises anywhere in a text.

    Raises:
        UnknownModelError: it is not a GGUF file, or it is incomplete.
    """
    tokens = []
    try:
        with path.open("rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as data:
            if data[:4] != b"GGUF":
                raise ValueError("it does not begin with GGUF")
            place, count = _list(data, b"tokenizer.ggml.token_type")
            kinds = struct.unpack_from(f"<{count}i", data, place)
            place, _ = _list(data, b"tokenizer.ggml.tokens")
            for kind in kinds:
                begin = place + 8
                place = begin + struct.unpack_from("<Q", data, place)[0]
                if kind in _SPECIAL:
                    tokens.append(data[begin:place].decode("utf-8", "ignore"))
    except (OSError, ValueError, struct.error) as error:
        raise UnknownModelError(f"{path} is not a usable GGUF file: {error}") from error
    return tuple(tokens)


def _list(data: mmap, name: bytes) -> tuple[int, int]:
    """Return where the values of a list begin, and how many there are: none if there is none."""
    key = struct.pack("<Q", len(name)) + name + struct.pack("<I", _ARRAY)
    place = data.find(key) + len(key)
    if place < len(key):
        return 0, 0
    _, count = struct.unpack_from("<IQ", data, place)
    return place + struct.calcsize("<IQ"), count


def written(response: Response) -> tuple[str, bool]:
    """Return what a model has written, and whether it has thought, which servers send beside the
    text or within it.
    """
    parts, usage = response.message.parts, response.usage
    raw = "\n".join(part.text for part in parts if part.type == "text")
    text = _OPEN.sub("", _CLOSED.sub("", raw))
    is_cut_off = (
        response.finish_reason == "length" and not raw and (usage.output_tokens or 0) >= _HIDDEN
    )
    thinks = (
        text != raw
        or is_cut_off
        or bool(usage.reasoning_tokens)
        or any(part.type == "thinking" for part in parts)
    )
    if found := _WRAPPED.match(_ENDS.sub("", text)):
        return found[2].strip(), thinks
    return _ENDS.sub("", text).strip() if thinks else text, thinks


def completed(response: Response, stop: Sequence[str] = ()) -> Response:
    """Return a response that holds the written text only, up to the first of ``stop``.

    Tool calls and other parts stay as they are.

    Raises:
        LMInvalidRequestError: there are only thoughts.
    """
    if any(part.type not in ("text", "thinking") for part in response.message.parts):
        return response
    text, thinks = written(response)
    if thinks and not text.strip():
        raise LMInvalidRequestError(f"the model has only thought and written nothing; {_MEND}")
    end = min((place for mark in stop if (place := text.find(mark)) >= 0), default=len(text))
    return replace(response, message=Message.assistant(text[:end]))
