"""Control tokens in texts: a document that spells one must not be able to end a turn or begin another.

A tokenizer turns ``<|im_end|>`` into the one token that ends a turn, wherever it stands. So every text of a request is
looked through where the request reaches a model, whoever rendered it, and each control token gets a space after its
first character: ``< |im_end|>`` is ordinary text, which a small model reads and copies like any other. What it copies
is spelt as in the document again before anybody sees it, so that an answer is found in its passage.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from dspy.lm15 import Message, Request, Response

# Of models on servers nobody tells the list. These are the control tokens of the families that are in wide use; nearly
# all new ones are spelt <|so|>, and with wide bars by DeepSeek.
_FAMILY = r"<[|｜][^\s<>|｜]{1,60}[|｜]>"
COMMON_TOKENS = (
    "<s>", "</s>", "<unk>", "<pad>", "<bos>", "<eos>", "<mask>", "[INST]", "[/INST]", "<<SYS>>", "<</SYS>>",
    "[TOOL_CALLS]", "[TOOL_RESULTS]", "[/TOOL_RESULTS]", "[AVAILABLE_TOOLS]", "[/AVAILABLE_TOOLS]",
    "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]", "[THINK]", "[/THINK]", "[IMG]",
    "<start_of_turn>", "<end_of_turn>", "<start_of_image>", "<end_of_image>",
    "<think>", "</think>", "<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>",
    "<fim_prefix>", "<fim_middle>", "<fim_suffix>", "<fim_pad>", "<repo_name>", "<reponame>", "<file_sep>",
    "<filename>", "<gh_stars>",
)  # fmt: skip


class ControlTokens:
    """The control tokens to break up in texts: the common ones, and those of a model whose list is known."""

    def __init__(self, own: Iterable[str] = ()) -> None:
        """Add the model's own tokens; a token of one character, or of white space, is ordinary text and stays."""
        tokens = {token.strip() for token in (*COMMON_TOKENS, *own) if len(token.strip(" \t\r\n▁")) > 1}
        longest_first = sorted(tokens, key=lambda token: (-len(token), token))
        self._pattern = re.compile("|".join((*map(re.escape, longest_first), _FAMILY)))

    def broken(self, text: str, seen: dict[str, str] | None = None) -> str:
        """Return a text with control tokens broken up; ``seen`` collects them with their spelling."""

        def split(found: re.Match[str]) -> str:
            apart = f"{found[0][0]} {found[0][1:]}"
            if seen is not None:
                seen.setdefault(apart, found[0])
            return apart

        count = 1
        while count:  # what is left of one token may be another
            text, count = self._pattern.subn(split, text)
        return text

    def guard(self, request: Request, complete: Callable[[Request], Response]) -> Response:
        """Answer a request by ``complete``, which sees no control token in it."""
        seen: dict[str, str] = {}
        system: Any = request.system
        if isinstance(system, str):
            system = self.broken(system, seen)
        elif system is not None:
            system = tuple(replace(part, text=self.broken(part.text, seen)) for part in system)
        messages = tuple(_rewritten(message, lambda text: self.broken(text, seen)) for message in request.messages)
        if not seen:
            return complete(request)
        response = complete(replace(request, system=system, messages=messages))
        return replace(response, message=_rewritten(response.message, lambda text: _joined(text, seen)))


def _rewritten(message: Message, rewrite: Callable[[str], str]) -> Message:
    parts: tuple[Any, ...] = message.parts
    return replace(
        message, parts=tuple(replace(part, text=rewrite(part.text)) if part.type == "text" else part for part in parts)
    )


def _joined(text: str, seen: dict[str, str]) -> str:
    """Restore the broken tokens in a completion, the last first, because one may be part of another."""
    for apart, token in reversed(seen.items()):
        text = text.replace(apart, token)
    return text
