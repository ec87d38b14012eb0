"""Foreign weights: what would end, hang or bloat this process is refused in a child, by the name of its file."""

import struct
from collections.abc import Callable
from pathlib import Path

import gguf
import pytest

from groundset.models.specs import LocalSpec
from groundset.runtime import weight_check
from groundset.runtime.gguf_header import head_fault
from groundset.runtime.lms import open_lm
from groundset.runtime.weight_check import check_weights
from programs.errors import WeightsError


@pytest.fixture(autouse=True)
def own_cache(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if "smollm2" in request.fixturenames:
        request.getfixturevalue("smollm2")  # from the cache that all tests share
    monkeypatch.setenv("GROUNDSET_HOME", str(tmp_path / "cache"))


@pytest.fixture
def crafted(smollm2: Path, tmp_path: Path) -> Callable[..., Path]:
    """Copy the smallest model with another template or another number in its head."""

    def make(template: str = "", **numbers: int) -> Path:
        whole = bytearray(smollm2.read_bytes())
        for name, value in numbers.items():
            key = f"llama.{name}".encode()
            struct.pack_into("<I", whole, whole.index(key) + len(key) + 4, value)
        if template:
            key = b"tokenizer.chat_template"
            place = whole.index(key) + len(key) + 4
            (length,) = struct.unpack_from("<Q", whole, place)
            whole[place + 8 : place + 8 + length] = template.encode().ljust(length)
        path = tmp_path / "crafted.gguf"
        path.write_bytes(whole)
        return path

    return make


def head_of(path: Path, write: Callable[[gguf.GGUFWriter], object]) -> Path:
    writer = gguf.GGUFWriter(path, "llama")
    write(writer)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()
    return path


def test_a_head_that_cannot_be_true_is_refused_before_anything_is_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: object) -> str:
        raise AssertionError("loaded")

    monkeypatch.setattr(weight_check, "_trial", never)
    file = tmp_path / "bad.gguf"
    for write, said in (
        (lambda writer: writer.add_block_count(2**31 - 1), "it names 2,147,483,647 layers, but has 0 tensors"),
        (lambda writer: writer.add_chat_template("x" * 300_001), "it has a chat template of 300,001 bytes"),
        (lambda writer: writer.add_array("lists", [[1, 2], [3]]), "its head cannot be read: a list of lists"),
    ):
        head_of(file, write)
        with pytest.raises(WeightsError, match=rf"bad\.gguf: the embedded runtime cannot use this model: {said}$"):
            check_weights(LocalSpec(file, "0" * 64, file.name), {}, print)


def test_counts_beyond_the_file_are_refused(tmp_path: Path) -> None:
    file = head_of(tmp_path / "bad.gguf", lambda writer: writer.add_array("names", ["one", "two"]))
    whole = bytearray(file.read_bytes())
    struct.pack_into("<Q", whole, whole.index(b"names") + 5 + 8, 2**60)
    file.write_bytes(whole)
    assert "a list of 1,152,921,504,606,846,976 values" in head_fault(file)
    struct.pack_into("<Q", whole, 16, 2**60)
    file.write_bytes(whole)
    assert "named values" in head_fault(file)


def test_what_passed_is_not_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = head_of(tmp_path / "tiny.gguf", lambda writer: writer.add_name("tiny"))
    spec, tried, told = LocalSpec(file, "a" * 64, file.name), [], []
    monkeypatch.setattr(weight_check, "_trial", lambda path, adapter: tried.append((path, adapter)) or "")
    for _ in range(2):
        check_weights(spec, {"b" * 64: file}, told.append)
    assert tried == [(file, None), (file, file)]
    assert told == ["Trying tiny.gguf in a process of its own, since nobody vouches for it."] * 2


@pytest.mark.model
def test_a_template_without_end_is_ended(
    crafted: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(weight_check, "_PATIENCE_S", 20)
    loops = "{% for a in range(99999) %}{% for b in range(99999) %}{% for c in range(99999) %}"
    path = crafted(template=loops + "{% endfor %}" * 3 + "x")
    with pytest.raises(WeightsError, match=r"crafted\.gguf: the embedded runtime cannot use this model: ") as caught:
        open_lm(str(path))
    assert caught.value.exit_code == 2
    assert capfd.readouterr().err.count("\n") <= 1


@pytest.mark.model
def test_foreign_weights_that_are_whole_are_loaded(crafted: Callable[..., Path]) -> None:
    told: list[str] = []
    path = crafted()
    for _ in range(2):
        with open_lm(str(path), notify=told.append) as model:
            assert model.name == "crafted.gguf"
    assert told == ["Trying crafted.gguf in a process of its own, since nobody vouches for it."]


@pytest.mark.model
def test_a_bad_adapter_is_named_and_not_its_model(smollm2: Path, tmp_path: Path) -> None:
    adapter = head_of(tmp_path / "sound.gguf", lambda writer: writer.add_type("adapter"))
    spec = LocalSpec(smollm2, "a" * 64, "smollm2-135m")
    with pytest.raises(WeightsError, match=r"sound\.gguf: .* cannot use these weights for smollm2-135m: "):
        check_weights(spec, {"b" * 64: adapter}, print)
