"""Special tokens in GGUF files written by llama.cpp's package."""

from pathlib import Path

import gguf
import pytest

from groundset.runtime.gguf_header import special_tokens
from programs.errors import EngineError

TOKENS = ["<unk>", "<s>", "a", "<tool_call>", "<0x0A>", "[PAD]", "</s>", "größe"]
KINDS = [2, 3, 1, 4, 6, 5, 3, 1]


@pytest.fixture
def weights(tmp_path: Path) -> Path:
    path = tmp_path / "tiny.gguf"
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_name("tiny")
    writer.add_float32("some.number", 0.5)
    writer.add_array("some.names", ["one", "two"])
    writer.add_bool("some.switch", True)
    writer.add_token_types(KINDS)
    writer.add_token_list(TOKENS)
    writer.add_uint64("after.all", 1)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()
    return path


def test_special_tokens(weights):
    assert special_tokens(weights) == ("<unk>", "<s>", "<tool_call>", "</s>")


def test_file_without_tokens(tmp_path):
    path = tmp_path / "adapter.gguf"
    writer = gguf.GGUFWriter(path, "llama")
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()
    assert special_tokens(path) == ()


def test_damaged_header(weights):
    data = weights.read_bytes()
    for size in range(0, data.index(b"after.all") - 8, 7):
        weights.write_bytes(data[:size])
        with pytest.raises(EngineError, match=r"^tiny\.gguf: its list of tokens cannot be read: "):
            special_tokens(weights)
    weights.write_bytes(data[:24] + b"\xff" * 64)
    with pytest.raises(EngineError, match="cannot be read"):
        special_tokens(weights)
