import json
from pathlib import Path
from typing import Any

import pytest
from reported_run import make_run


@pytest.fixture
def runs(tmp_path: Path) -> list[Path]:
    return [make_run(tmp_path / "first", samples=12), make_run(tmp_path / "second", samples=8)]


def test_tables_conclusions_and_notes_are_printed(run: Any, runs: list[Path], tmp_path: Path) -> None:
    ran = run("compare", *runs, "--out", tmp_path / "c.html")
    assert ran.status == 0
    lines = ran.out.splitlines()
    assert lines[0].split() == ["first", "second"]
    assert any(line.split() == ["hit", "at", "1", "25", "%", "(9", "to", "53", "%,", "n=12)", "25", "%", "(7", "to",
                                "59", "%,", "n=8)"] for line in lines)  # fmt: skip
    assert any(line.startswith("hit at 1  ") and "second  +0 points (" in line for line in lines)
    assert "second is over the same 4 documents as first, cut the same way." in lines
    assert lines[-1] == f"Page: {tmp_path / 'c.html'}."
    assert (tmp_path / "c.html").read_text(encoding="utf-8").startswith("<!doctype html>")


def test_sixty_columns_are_enough(run_narrow: Any, runs: list[Path]) -> None:
    lines = run_narrow("compare", *runs)
    assert any(line.startswith("first   25 % (9 to 53 %, n=12)") for line in lines)


def test_json_is_one_document(run: Any, runs: list[Path]) -> None:
    told = json.loads(run("compare", *runs, "--json").out)
    assert [each["samples"] for each in told["runs"]] == [12, 8]
    assert {"measures", "differences", "conclusions", "notes"} <= set(told)
    hit = next(each for each in told["measures"] if each["name"] == "hit at 1")
    assert hit["runs"][0] == {"n": 12, "share": 0.25, "interval": [0.0889, 0.5323]}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "takes two runs or more"),
        (("first",), "is named twice"),
        (("nowhere",), "nowhere does not exist"),
        (("second", "--out", "x.txt"), "give it a name that ends with .html"),
        (("second", "--out", "-", "--json"), "--out -: --json goes to standard output"),
    ],
)
def test_wrong_input_is_one_line(
    run: Any, runs: list[Path], monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], message: str
) -> None:
    monkeypatch.chdir(runs[0].parent)
    ran = run("compare", "first", *arguments)
    assert (ran.status, message in ran.err, ran.out) == (2, True, "")
