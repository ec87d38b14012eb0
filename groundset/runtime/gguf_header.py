"""The control tokens of a GGUF file, read from its head.

llama.cpp's own reader for Python (`gguf`) makes an array of every token, which takes seconds at each start, and it is
there only where models are trained; the format of the head is short and fixed.
"""

import mmap
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from programs.errors import EngineError

_NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_STRING, _ARRAY = 8, 9
# The largest vocabularies have a quarter of a million tokens, the longest templates 30 KB.
_MOST_VALUES = 4_000_000
_MOST_FIELDS = 10_000
_LONGEST_TEMPLATE = 300_000
_LAYERS, _TEMPLATE = ".block_count", "tokenizer.chat_template"
_TOKENS, _KINDS = "tokenizer.ggml.tokens", "tokenizer.ggml.token_type"
# What llama.cpp looks for in a text before anything else: unknown, control and user-defined tokens.
_SPECIAL = frozenset({2, 3, 4})


def head_fault(path: Path) -> str:
    """Return the first impossible value in the head of a file, empty if there is none.

    A runtime would take memory for that before it looks at the rest.
    """
    try:
        with path.open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as data:
            head = _Head(data)
            for name, value in head.fields():
                if name == _TEMPLATE and len(value) > _LONGEST_TEMPLATE:
                    return f"it has a chat template of {len(value):,} bytes"
                if name.endswith(_LAYERS) and not 0 <= value <= head.tensors:
                    return f"it names {value:,} layers, but has {head.tensors:,} tensors"
    except (OSError, ValueError, KeyError, TypeError, struct.error) as error:
        return f"its head cannot be read: {error}"
    return ""


def special_tokens(path: Path) -> tuple[str, ...]:
    """Return the special tokens of a model, which its tokenizer finds anywhere in a text.

    Raises:
        EngineError: the file is no GGUF file, or ends in its head.
    """
    try:
        with path.open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as data:
            found = {}
            for name, value in _Head(data).fields():
                if name in (_TOKENS, _KINDS):
                    found[name] = value
                if len(found) == 2:
                    break
    except (OSError, ValueError, KeyError, struct.error) as error:
        raise EngineError(f"{path.name}: its list of tokens cannot be read: {error}") from error
    pairs = zip(found.get(_TOKENS, ()), found.get(_KINDS, ()), strict=False)
    return tuple(token.decode("utf-8", "ignore") for token, kind in pairs if kind in _SPECIAL)


class _Head:
    """The named values at the beginning of a GGUF file.

    Attributes:
        tensors: how many tensors follow.
    """

    def __init__(self, data: mmap.mmap) -> None:
        self._data = data
        if data[:4] != b"GGUF":
            raise ValueError("not a GGUF file")
        self._place = 4
        _, (self.tensors,), (self._count,) = self._numbers("I"), self._numbers("Q"), self._numbers("Q")
        if self._count > _MOST_FIELDS:
            raise ValueError(f"{self._count:,} named values")

    def fields(self) -> Iterator[tuple[str, Any]]:
        """Yield the names with their values, in their order."""
        for _ in range(self._count):
            name = self._string().decode("utf-8", "replace")
            yield name, self._value(self._numbers("I")[0])

    def _value(self, kind: int) -> Any:
        if kind == _STRING:
            return self._string()
        if kind != _ARRAY:
            return self._numbers(_NUMBERS[kind])[0]
        kind, count = self._numbers("I")[0], self._numbers("Q")[0]
        if count > _MOST_VALUES:
            raise ValueError(f"a list of {count:,} values")
        if kind in _NUMBERS:
            return self._numbers(_NUMBERS[kind], count)
        if kind != _STRING:
            raise ValueError("a list of lists")
        return [self._string() for _ in range(count)]

    def _string(self) -> bytes:
        (length,) = self._numbers("Q")
        start, self._place = self._place, self._place + length
        if self._place > len(self._data):
            raise ValueError("it ends too early")
        return self._data[start : self._place]

    def _numbers(self, kind: str, count: int = 1) -> tuple[Any, ...]:
        layout = f"<{count}{kind}"
        values = struct.unpack_from(layout, self._data, self._place)
        self._place += struct.calcsize(layout)
        return values
