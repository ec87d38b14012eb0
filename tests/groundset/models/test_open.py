"""What users call a model, and what they get."""

import json
import shutil
import struct
from collections.abc import Callable
from pathlib import Path

import dspy
import pytest
from model_server import serving
from refusal import refuses

from groundset.bounded import BoundedProcess
from groundset.files import data_path
from groundset.models import open as opening
from groundset.models.journal import MemoryJournal
from groundset.models.open import Spec, check_weights, open_model, parse_spec
from groundset.programs.adapter import PlainTextAdapter
from groundset.programs.errors import UnknownModelError


def test_specifications(tmp_path):
    weights = tmp_path / "My.GGUF"
    weights.write_bytes(b"GGUF")
    assert parse_spec(" smollm2-135m ") == Spec("smollm2-135m")
    assert parse_spec(str(weights)) == Spec("My.GGUF", weights)
    assert parse_spec("hf/a/b/c.gguf@v1") == Spec("hf/a/b/c.gguf@v1")
    served = Spec("openai/qwen2.5:7b@server", None, "qwen2.5:7b", "http://localhost:11434/v1")
    assert parse_spec("openai/qwen2.5:7b@http://localhost:11434/v1/") == served
    assert parse_spec("anthropic/claude-x") == Spec(
        "anthropic/claude-x", served="anthropic/claude-x"
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "unknown model ''"),
        ("qwen2.5-coder-05b", r"did you mean qwen2\.5-coder-0\.5b"),
        ("all-minilm-l6-v2", "of role embedder, not generator"),
        ("openai/m@localhost:80/v1", "not a base URL such as http"),
        ("openai/m@ftp://x/v1", "not a base URL such as"),
        ("openai/m@http://x:0/v1", "not a base URL such as"),
        ("openai/m@http://x/v1?key=secret", "'http://x/v1': not a base URL .*without credentials"),
        ("openai/m@http://user:secret@x/v1", "'x/v1': not a base URL"),
        ("openai/m@http://user:sec/ret@x/v1", "'x/v1': not a base URL"),
        ("./missing.gguf", "there is no such file"),
        ("/tmp", "unknown model '/tmp'; .* a path to a .gguf file"),
    ],
)
def test_wrong_specifications(text, message):
    with refuses(message, UnknownModelError) as caught:
        parse_spec(text)
    assert "secret" not in str(caught.value)


def test_a_saved_program_holds_the_specification_and_opens_nothing(tmp_path, monkeypatch):
    monkeypatch.setenv("GROUNDSET_API_KEY", "secret")
    with serving("Answer: Paris") as server, open_model(server.spec) as model:
        program = dspy.Predict("question -> answer")
        program.lm = model.lm
        copied = program.deepcopy()
        program.save(tmp_path / "program.json")
        text = (tmp_path / "program.json").read_text()
        assert "secret" not in text
        assert json.loads(text)["lm"]["engine"]["state"] == {"spec": server.spec}
        loaded = dspy.Predict("question -> answer")
        loaded.load(tmp_path / "program.json", allow_unsafe_lm_state=True)
        with refuses(
            r"is not open; open it and set it: program\.set_lm\(groundset\.lm\(", dspy.LMError
        ):
            loaded(question="Where?")
        assert server.bodies == []
        with dspy.context(adapter=PlainTextAdapter()):
            assert copied(question="Where?").answer == "Paris"


@pytest.mark.model
def test_a_model_of_the_catalogue(smollm2, tmp_path):
    journal = MemoryJournal()
    renamed = shutil.copy(smollm2, tmp_path / "renamed.gguf")
    with open_model(str(renamed), journal=journal) as model:
        assert model.name == "smollm2-135m"
        assert model.guided is True  # known by its hash
        assert model.lm.model == f"local/{model.sha256[:16]}"
        options = {"max_tokens": 8, "temperature": 0.0}
        with dspy.context(lm=model.lm, adapter=PlainTextAdapter()):
            first = dspy.Predict("question -> answer", **options)(question="Where is Rome?")
    with open_model("smollm2-135m", journal=journal) as again:
        with dspy.context(lm=again.lm, adapter=PlainTextAdapter()):
            assert (
                dspy.Predict("question -> answer", **options)(question="Where is Rome?").answer
                == first.answer
            )
        assert again.usage()["calls"] == 0
        assert again.lm("Count to ten.", max_tokens=3)  # cut off, without a warning


def test_trained_weights_are_loaded_under_the_name_of_their_step(smollm2, tmp_path, monkeypatch):
    shipped = tmp_path / "compiled" / "smollm2-135m" / "sound.gguf"
    shipped.parent.mkdir(parents=True)
    shipped.write_bytes(b"GGUF")
    loaded = []
    monkeypatch.setattr(opening, "data_path", lambda *parts: tmp_path.joinpath(*parts))
    monkeypatch.setattr(
        "groundset.models.llama.LlamaModel", lambda path, adapters, **_: loaded.append(adapters)
    )
    open_model("smollm2-135m")
    open_model("smollm2-135m", shipped=False)
    open_model("smollm2-135m", adapters={"judge": shipped})
    assert loaded == [{"sound": shipped}, {}, {"sound": shipped, "judge": shipped}]


@pytest.fixture
def crafted(smollm2, tmp_path, home) -> Callable[[str], Path]:
    """Return a function that copies the smallest model with another chat template."""

    def make(template):
        data = bytearray(smollm2.read_bytes())
        key = b"tokenizer.chat_template"
        place = data.index(key) + len(key) + 4
        (length,) = struct.unpack_from("<Q", data, place)
        data[place + 8 : place + 8 + length] = template.encode().ljust(length)
        path = tmp_path / "crafted.gguf"
        path.write_bytes(data)
        return path

    return make


@pytest.mark.model
def test_weights_of_strangers_are_tested_first(crafted, monkeypatch, capfd):
    monkeypatch.setattr(opening, "_BASE_SECONDS", 3)
    loops = "{% for a in range(99999) %}{% for b in range(99999) %}{% for c in range(99999) %}"
    endless = crafted(loops + "{% endfor %}" * 3 + "x")
    with refuses(r"crafted\.gguf: llama\.cpp cannot use this file: ", UnknownModelError) as caught:
        open_model(str(endless))
    assert caught.value.exit_code == 2
    assert (
        capfd.readouterr().err
        == "testing crafted.gguf in a separate process: it is not in the catalogue\n"
    )
    monkeypatch.undo()


def test_what_passed_is_not_tested_again(smollm2, home, tmp_path, monkeypatch):
    tested = []
    monkeypatch.setattr(
        BoundedProcess, "__call__", lambda self, files, seconds: tested.append(files) or ""
    )
    adapter = tmp_path / "adapter.gguf"
    adapter.write_bytes(b"GGUF")
    said = []
    for _ in range(2):
        check_weights(adapter, None, said.append)
        check_weights(smollm2, adapter, said.append)
    assert tested == [[str(adapter), ""], [str(smollm2), str(adapter)]]
    assert said == ["testing adapter.gguf in a separate process: it is not in the catalogue"] * 2


def test_what_is_shipped_is_not_tested(smollm2, monkeypatch):
    def untested(line):
        pytest.fail(line)

    check_weights(smollm2, None, untested)
    check_weights(smollm2, data_path("compiled", "any", "sound.gguf"), untested)
