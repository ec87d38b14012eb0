"""The control tokens of a GGUF file, from its header.

llama.cpp's Python reader is not used, because it takes seconds at each start; the format is simple and fixed.
"""

import mmap
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from programs.errors import UnknownModelError

_NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_STRING, _ARRAY = 8, 9
_MAX_VALUES = 4_000_000  # the largest vocabularies have a quarter of a million tokens
_MAX_FIELDS = 10_000
_TOKENS, _KINDS = "tokenizer.ggml.tokens", "tokenizer.ggml.token_type"
# Unknown, control and user-defined tokens, which llama.cpp searches for in a text first.
_SPECIAL = frozenset({2, 3, 4})


def special_tokens(path: Path) -> tuple[str, ...]:
    """Return the special tokens of a model, which its tokenizer recognises anywhere in a text.

    Raises:
        UnknownModelError: it is not a GGUF file, or its header is incomplete.
    """
    try:
        with path.open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as data:
            lists = {name: value for name, value in _Header(data).fields() if name in (_TOKENS, _KINDS)}
    except (OSError, ValueError, KeyError, struct.error) as error:
        raise UnknownModelError(f"{path} is not a usable GGUF file: {error}") from error
    pairs = zip(lists.get(_TOKENS, ()), lists.get(_KINDS, ()), strict=False)
    return tuple(token.decode("utf-8", "ignore") for token, kind in pairs if kind in _SPECIAL)


class _Header:
    """The named values at the start of a GGUF file."""

    def __init__(self, data: mmap.mmap) -> None:
        self._data, self._offset = data, 4
        if data[:4] != b"GGUF":
            raise ValueError("it does not begin with GGUF")

    def fields(self) -> Iterator[tuple[str, Any]]:
        """Yield names and values in order."""
        _, _, (count,) = self._numbers("I"), self._numbers("Q"), self._numbers("Q")
        if count > _MAX_FIELDS:
            raise ValueError(f"{count:,} named values")
        for _ in range(count):
            name = self._string().decode("utf-8", "replace")
            yield name, self._value(self._numbers("I")[0])

    def _value(self, kind: int) -> Any:
        if kind == _STRING:
            return self._string()
        if kind != _ARRAY:
            return self._numbers(_NUMBERS[kind])[0]
        kind, count = self._numbers("I")[0], self._numbers("Q")[0]
        if count > _MAX_VALUES or kind == _ARRAY:
            raise ValueError("a list of lists" if kind == _ARRAY else f"a list of {count:,} values")
        return [self._string() for _ in range(count)] if kind == _STRING else self._numbers(_NUMBERS[kind], count)

    def _string(self) -> bytes:
        (length,) = self._numbers("Q")
        start, self._offset = self._offset, self._offset + length
        if self._offset > len(self._data):
            raise ValueError("unexpected end of file")
        return self._data[start : self._offset]

    def _numbers(self, kind: str, count: int = 1) -> tuple[Any, ...]:
        layout = f"<{count}{kind}"
        values = struct.unpack_from(layout, self._data, self._offset)
        self._offset += struct.calcsize(layout)
        return values
