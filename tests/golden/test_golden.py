"""The golden run; see ``golden.py``."""

import json
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent))

import golden


@pytest.fixture(autouse=True, scope="module")
def patience():
    """Announce no waits: how long they are depends on the machine."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("groundset.progress.PATIENCE_SECONDS", 600)
        yield


@pytest.fixture(scope="module")
def work(patience, tmp_path_factory):
    """The golden runs with the output of every command."""
    work = tmp_path_factory.mktemp("runs") / "golden"
    work.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", "120")
        golden.make(work, None)
    return work


@pytest.mark.model
def test_output_of_commands(work):
    made, expected = golden.summary_of(work), json.loads(golden.EXPECTED.read_text("utf-8"))
    assert sorted(made) == sorted(expected)
    assert [name for name in made if made[name]["text"] != expected[name]["text"]] == []
    for name, file in made.items():
        assert file["numbers"] == pytest.approx(expected[name]["numbers"], abs=2e-3), name


@pytest.mark.model
def test_error_messages_of_commands(work, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    messages = golden.wrong_uses(work)
    assert sorted(messages) == sorted(file.stem for file in golden.TEXTS.glob("*.txt"))
    for command, text in messages.items():
        assert text == (golden.TEXTS / f"{command}.txt").read_text("utf-8"), "renew with golden.py --renew"
