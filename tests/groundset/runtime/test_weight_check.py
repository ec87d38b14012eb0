"""Untrusted weights are tested in a child process, and errors name the file."""

import struct
from collections.abc import Callable
from pathlib import Path

import gguf
import pytest

from groundset.models.specs import LocalSpec
from groundset.runtime import weight_check
from groundset.runtime.gguf_header import header_error
from groundset.runtime.lms import open_lm
from groundset.runtime.weight_check import check_weights
from programs.errors import WeightsError


@pytest.fixture(autouse=True)
def own_cache(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if "smollm2" in request.fixturenames:
        request.getfixturevalue("smollm2")  # from the shared cache
    monkeypatch.setenv("GROUNDSET_HOME", str(tmp_path / "cache"))


@pytest.fixture
def crafted(smollm2: Path, tmp_path: Path) -> Callable[..., Path]:
    """Return a function that copies the smallest model with another chat template."""

    def make(template: str = "") -> Path:
        data = bytearray(smollm2.read_bytes())
        if template:
            key = b"tokenizer.chat_template"
            place = data.index(key) + len(key) + 4
            (length,) = struct.unpack_from("<Q", data, place)
            data[place + 8 : place + 8 + length] = template.encode().ljust(length)
        path = tmp_path / "crafted.gguf"
        path.write_bytes(data)
        return path

    return make


def write_header(path: Path, write: Callable[[gguf.GGUFWriter], object]) -> Path:
    writer = gguf.GGUFWriter(path, "llama")
    write(writer)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()
    return path


@pytest.mark.parametrize(
    ("write", "reason"),
    [
        (lambda writer: writer.add_block_count(2**31 - 1), "its header claims 2,147,483,647 layers for 0 tensors"),
        (lambda writer: writer.add_chat_template("x" * 300_001), "its chat template has 300,001 bytes"),
        (lambda writer: writer.add_array("lists", [[1, 2], [3]]), "its header cannot be read: a list of lists"),
    ],
)
def test_implausible_header_is_rejected_before_loading(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: Callable[[gguf.GGUFWriter], object], reason: str
) -> None:
    monkeypatch.setattr(weight_check, "_test_in_child", lambda *_: pytest.fail("loaded"))
    file = write_header(tmp_path / "bad.gguf", write)
    with pytest.raises(WeightsError, match=rf"bad\.gguf: the embedded runtime cannot use this model: {reason}$"):
        check_weights(LocalSpec(file, "0" * 64, file.name), {}, print)


def test_counts_larger_than_the_file(tmp_path: Path) -> None:
    file = write_header(tmp_path / "bad.gguf", lambda writer: writer.add_array("names", ["one", "two"]))
    data = bytearray(file.read_bytes())
    struct.pack_into("<Q", data, data.index(b"names") + 5 + 8, 2**60)
    file.write_bytes(data)
    assert "a list of 1,152,921,504,606,846,976 values" in header_error(file)
    struct.pack_into("<Q", data, 16, 2**60)
    file.write_bytes(data)
    assert "named values" in header_error(file)


def test_weights_that_passed_are_not_tested_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = write_header(tmp_path / "tiny.gguf", lambda writer: writer.add_name("tiny"))
    spec, tested, notices = LocalSpec(file, "a" * 64, file.name), [], []
    monkeypatch.setattr(weight_check, "_test_in_child", lambda path, adapter: tested.append((path, adapter)) or "")
    for _ in range(2):
        check_weights(spec, {"b" * 64: file}, notices.append)
    assert tested == [(file, None), (file, file)]
    assert ["tiny.gguf" in notice for notice in notices] == [True, True]


@pytest.mark.model
def test_endless_template_is_stopped(
    crafted: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(weight_check, "_BASE_SECONDS", 4)
    loops = "{% for a in range(99999) %}{% for b in range(99999) %}{% for c in range(99999) %}"
    path = crafted(template=loops + "{% endfor %}" * 3 + "x")
    with pytest.raises(WeightsError, match=r"crafted\.gguf: the embedded runtime cannot use this model: ") as caught:
        open_lm(str(path))
    assert caught.value.exit_code == 2
    assert capfd.readouterr().err.count("\n") <= 1


@pytest.mark.model
def test_valid_weights_are_loaded(crafted: Callable[..., Path]) -> None:
    with open_lm(str(crafted()), notify=print) as model:
        assert model.name == "crafted.gguf"


@pytest.mark.model
def test_error_names_the_adapter(smollm2: Path, tmp_path: Path) -> None:
    adapter = write_header(tmp_path / "sound.gguf", lambda writer: writer.add_type("adapter"))
    spec = LocalSpec(smollm2, "a" * 64, "smollm2-135m")
    with pytest.raises(WeightsError, match=r"sound\.gguf: .* cannot use these weights for smollm2-135m: "):
        check_weights(spec, {"b" * 64: adapter}, print)
