"""The golden run is what it was: see ``golden.py``, which also says how two versions are compared to the byte."""

import json
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent))

import golden


@pytest.fixture(scope="module")
def work(tmp_path_factory):
    """The golden runs, with what every command made of them."""
    work = tmp_path_factory.mktemp("runs") / "golden"
    work.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", "120")
        golden.make(work, None)
    return work


@pytest.mark.model
def test_commands_make_of_fixed_input_what_they_made_before(work):
    made, expected = golden.summary_of(work), json.loads(golden.EXPECTED.read_text("utf-8"))
    assert sorted(made) == sorted(expected)
    assert [name for name in made if made[name]["text"] != expected[name]["text"]] == []
    for name, file in made.items():
        assert file["numbers"] == pytest.approx(expected[name]["numbers"], abs=2e-3), name


@pytest.mark.model
def test_commands_say_what_they_said_before_when_used_wrongly(work, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    said = golden.wrong_uses(work)
    assert sorted(said) == sorted(file.stem for file in golden.TEXTS.glob("*.txt"))
    for command, text in said.items():
        assert text == (golden.TEXTS / f"{command}.txt").read_text("utf-8"), "golden.py --renew writes the new texts"
