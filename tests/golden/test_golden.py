"""The golden run is what it was: see ``golden.py``, which also says how two versions are compared to the byte."""

import json
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent))

import golden


@pytest.mark.model
def test_commands_make_of_fixed_input_what_they_made_before(tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    work = tmp_path / "golden"
    work.mkdir()
    golden.make(work, None)
    made, expected = golden.summary_of(work), json.loads(golden.EXPECTED.read_text("utf-8"))
    assert sorted(made) == sorted(expected)
    assert [name for name in made if made[name]["text"] != expected[name]["text"]] == []
    for name, file in made.items():
        assert file["numbers"] == pytest.approx(expected[name]["numbers"], abs=2e-3), name
