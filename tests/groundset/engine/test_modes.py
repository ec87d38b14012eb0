"""The choice of mode and critic."""

from pathlib import Path
from typing import Any

import pytest

from groundset.engine.config import ChosenMode, choose_mode, make_config
from programs.errors import InputError, StateError
from programs.modes import MODES

SERVED = "openai/any@http://127.0.0.1:9/v1"


def chosen(**options: Any) -> ChosenMode:
    return choose_mode(make_config({"documents": (Path("docs"),), **options}))


@pytest.mark.parametrize("lm", ["qwen2.5-coder-0.5b", "qwen2.5-coder-1.5b", "smollm2-135m"])
def test_catalogue_models_use_their_measured_mode(lm: str) -> None:
    choice = chosen(lm=lm)
    assert (choice.mode.name, choice.config.critic) == ("guided", "head")
    assert lm in choice.why
    assert choice.config.options.max_rank == 5
    assert choice.config.options.mix == {"simple": 1}
    assert choice.given.critic is None, "the given options are unchanged"


@pytest.mark.parametrize("lm", [SERVED, "some/file.gguf", "hf/owner/repo/file.gguf", "no model at all"])
def test_other_models_use_free_mode(lm: str) -> None:
    choice = chosen(lm=lm)
    assert (choice.mode.name, choice.config.critic) == ("free", "verdict")
    assert "catalogue" in choice.why
    assert choice.config.options.max_rank == 0
    assert set(choice.config.options.mix) == {"simple", "reasoning", "conditional", "multi_context"}


def test_explicit_options_override_the_mode() -> None:
    choice = chosen(mode="sentence", lm=SERVED)
    assert (choice.mode, choice.why) == (MODES["sentence"], "named")
    choice = chosen(mode="free", critic="lm", mix="simple=1", max_rank=3)
    assert (choice.config.critic, choice.config.options.mix, choice.config.options.max_rank) == ("lm", {"simple": 1}, 3)
    assert chosen(mode="free").config.critic == "head", "the measured critic of the model"


def test_compiled_mode_file_is_used(tmp_path: Path) -> None:
    folder = tmp_path / "qwen2.5-coder-0.5b"
    folder.mkdir()
    (folder / "mode.json").write_text('{"mode": "free", "critic": "lm", "measured": "12 of 12 signed"}')
    choice = chosen(compiled=str(tmp_path))
    assert (choice.mode.name, choice.config.critic) == ("free", "lm")
    assert chosen(compiled=str(tmp_path), lm=SERVED).config.critic == "verdict", "the file is of another model"
    (folder / "mode.json").write_text('{"mode": "loudly", "critic": "lm"}')
    with pytest.raises(InputError, match="--mode loudly: no such mode; choose one of free"):
        chosen(compiled=str(tmp_path))
    (folder / "mode.json").write_text('{"mode": 3}')
    with pytest.raises(StateError, match=r"mode\.json: not a mode file"):
        chosen(compiled=str(tmp_path))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mode": "loud"}, "--mode loud: no such mode"),
        ({"answers": "open"}, "--answers open: mode guided"),
        ({"ask": "all", "lm": SERVED}, "--ask all: mode free asks about everything anyway"),
        ({"kinds": "amount=1", "lm": SERVED}, "--kinds: mode free has no kind amount"),
        ({"recipe": "multi", "answers": "open", "mode": "guided"}, "--answers open: mode guided"),
    ],
)
def test_options_unavailable_in_a_mode_are_rejected(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        chosen(**options)
