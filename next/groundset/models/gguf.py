"""Read the header of GGUF files: control tokens, the number of weights, and values that are implausible.

llama.cpp's Python reader is not used, because it takes seconds at each start; the format is simple and fixed.
"""

import math
import mmap
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from programs.errors import UnknownModelError

_NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_STRING, _ARRAY = 8, 9
# The largest vocabularies have a quarter of a million tokens, the longest templates 30 KB.
_MAX_VALUES = 4_000_000
_MAX_FIELDS = 10_000
_MAX_TEMPLATE = 300_000
_LAYERS, _TEMPLATE = ".block_count", "tokenizer.chat_template"
_TOKENS, _KINDS = "tokenizer.ggml.tokens", "tokenizer.ggml.token_type"
# Unknown, control and user-defined tokens, which llama.cpp searches for in a text first.
_SPECIAL = frozenset({2, 3, 4})


def header_error(path: Path) -> str:
    """Return the first implausible value in the header of a file, empty without one.

    Runtimes allocate memory for such values before they read the rest.
    """
    try:
        with path.open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as data:
            header = _Header(data)
            for name, value in header.fields():
                if name == _TEMPLATE and len(value) > _MAX_TEMPLATE:
                    return f"its chat template has {len(value):,} bytes"
                if name.endswith(_LAYERS) and not 0 <= value <= header.tensors:
                    return f"its header claims {value:,} layers for {header.tensors:,} tensors"
    except (OSError, ValueError, KeyError, TypeError, struct.error) as error:
        return f"its header cannot be read: {error}"
    return ""


def special_tokens(path: Path) -> tuple[str, ...]:
    """Return the special tokens of a model, which its tokenizer recognises anywhere in a text.

    Raises:
        UnknownModelError: it is not a GGUF file, or its header is incomplete.
    """
    lists = dict(item for item in _read(path)[0] if item[0] in (_TOKENS, _KINDS))
    pairs = zip(lists.get(_TOKENS, ()), lists.get(_KINDS, ()), strict=False)
    return tuple(token.decode("utf-8", "ignore") for token, kind in pairs if kind in _SPECIAL)


def count_weights(path: Path) -> int:
    """Return the number of weights in a file.

    Raises:
        UnknownModelError: it is not a GGUF file, or its header is incomplete.
    """
    return _read(path)[1]


def _read(path: Path) -> tuple[list[tuple[str, Any]], int]:
    try:
        with path.open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as data:
            header = _Header(data)
            return list(header.fields()), header.weights()
    except (OSError, ValueError, KeyError, struct.error) as error:
        raise UnknownModelError(f"{path} is not a usable GGUF file: {error}") from error


class _Header:
    """The named values at the start of a GGUF file, then the shapes of its tensors.

    Attributes:
        tensors: the number of tensors in the file.
    """

    def __init__(self, data: mmap.mmap) -> None:
        self._data = data
        if data[:4] != b"GGUF":
            raise ValueError("it does not begin with GGUF")
        self._offset = 4
        _, (self.tensors,), (self._count,) = self._numbers("I"), self._numbers("Q"), self._numbers("Q")
        if self._count > _MAX_FIELDS or self.tensors > _MAX_VALUES:
            raise ValueError(f"{self._count:,} named values and {self.tensors:,} tensors")

    def fields(self) -> Iterator[tuple[str, Any]]:
        """Yield names and values in order."""
        for _ in range(self._count):
            name = self._string().decode("utf-8", "replace")
            yield name, self._value(self._numbers("I")[0])

    def weights(self) -> int:
        """Return the number of weights, after the last field."""
        total = 0
        for _ in range(self.tensors):
            self._string()
            total += math.prod(self._numbers("Q", min(self._numbers("I")[0], 8)))
            self._offset += 12  # its type and its place
        return total

    def _value(self, kind: int) -> Any:
        if kind == _STRING:
            return self._string()
        if kind != _ARRAY:
            return self._numbers(_NUMBERS[kind])[0]
        kind, count = self._numbers("I")[0], self._numbers("Q")[0]
        if count > _MAX_VALUES:
            raise ValueError(f"a list of {count:,} values")
        if kind in _NUMBERS:
            return self._numbers(_NUMBERS[kind], count)
        if kind != _STRING:
            raise ValueError("a list of lists")
        return [self._string() for _ in range(count)]

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
