"""The control tokens of a GGUF file, from its header.

llama.cpp's Python reader is not used, because it takes seconds at each start; the format is simple and fixed.
"""

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from programs.errors import UnknownModelError

_NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_STRING, _ARRAY = 8, 9
_MOST = 4_000_000  # values of a list, bytes of a text; the largest vocabularies have a quarter of a million tokens
_TOKENS, _KINDS = "tokenizer.ggml.tokens", "tokenizer.ggml.token_type"
# Unknown, control and user-defined tokens, which llama.cpp searches for in a text first.
_SPECIAL = frozenset({2, 3, 4})


def special_tokens(path: Path) -> tuple[str, ...]:
    """Return the special tokens of a model, which its tokenizer recognises anywhere in a text.

    Raises:
        UnknownModelError: it is not a GGUF file, or its header is incomplete.
    """
    try:
        with path.open("rb") as stream:
            lists = {name: value for name, value in _fields(stream) if name in (_TOKENS, _KINDS)}
    except (OSError, ValueError, KeyError, struct.error) as error:
        raise UnknownModelError(f"{path} is not a usable GGUF file: {error}") from error
    pairs = zip(lists.get(_TOKENS, ()), lists.get(_KINDS, ()), strict=False)
    return tuple(token.decode("utf-8", "ignore") for token, kind in pairs if kind in _SPECIAL)


def _fields(stream: IO[bytes]) -> Iterator[tuple[str, Any]]:
    """Yield the named values at the start of a file."""
    magic, _, _, count = _numbers(stream, "4sIQQ")
    if magic != b"GGUF":
        raise ValueError("it does not begin with GGUF")
    for _ in range(_checked(count)):
        name = _value(stream, _STRING).decode("utf-8", "replace")
        yield name, _value(stream, *_numbers(stream, "I"))


def _value(stream: IO[bytes], kind: int) -> Any:
    if kind == _STRING:
        (length,) = _numbers(stream, "Q")
        return stream.read(_checked(length))
    if kind != _ARRAY:
        return _numbers(stream, _NUMBERS[kind])[0]
    kind, count = _numbers(stream, "IQ")
    if kind == _STRING:
        return [_value(stream, kind) for _ in range(_checked(count))]
    return _numbers(stream, f"{_checked(count)}{_NUMBERS[kind]}")


def _checked(count: int) -> int:
    if count > _MOST:
        raise ValueError(f"a text or list of {count:,}")
    return count


def _numbers(stream: IO[bytes], layout: str) -> tuple[Any, ...]:
    return struct.unpack(f"<{layout}", stream.read(struct.calcsize(f"<{layout}")))
