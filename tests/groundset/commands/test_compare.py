import json
from pathlib import Path
from typing import Any

import pytest
from reported_run import make_run


@pytest.fixture
def runs(tmp_path: Path) -> list[Path]:
    return [make_run(tmp_path / "first", samples=12), make_run(tmp_path / "second", samples=8)]


def test_compare_command(run: Any, runs: list[Path], tmp_path: Path) -> None:
    ran = run("compare", *runs, "--out", tmp_path / "c.html")
    assert ran.status == 0
    lines = ran.out.splitlines()
    assert lines[0].split() == ["first", "second"]
    assert any(line.split() == ["hit", "at", "1", "25", "%", "(9", "to", "53", "%,", "n=12)", "25", "%", "(7", "to",
                                "59", "%,", "n=8)"] for line in lines)  # fmt: skip
    assert any(line.startswith("hit at 1  ") and "second  +0 points (" in line for line in lines)
    assert lines[-1] == f"Page: {tmp_path / 'c.html'}."
    assert (tmp_path / "c.html").read_text(encoding="utf-8").startswith("<!doctype html>")


def test_narrow_terminal(run_narrow: Any, runs: list[Path]) -> None:
    lines = run_narrow("compare", *runs)
    assert any(line.startswith("first   25 % (9 to 53 %, n=12)") for line in lines)


def test_json(run: Any, runs: list[Path]) -> None:
    document = json.loads(run("compare", *runs, "--json").out)
    assert [entry["samples"] for entry in document["runs"]] == [12, 8]
    assert {"measures", "differences", "conclusions", "notes"} <= set(document)
    hit = next(entry for entry in document["measures"] if entry["name"] == "hit at 1")
    assert hit["runs"][0] == {"n": 12, "share": 0.25, "interval": [0.0889, 0.5323]}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "two or more runs"),
        (("first",), "first is named twice"),
        (("nowhere",), "nowhere does not exist"),
        (("second", "--out", "x.txt"), "must end with .html"),
        (("second", "--out", "-", "--json"), "--out -: --json"),
    ],
)
def test_wrong_input(
    run: Any, runs: list[Path], monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], message: str
) -> None:
    monkeypatch.chdir(runs[0].parent)
    ran = run("compare", "first", *arguments)
    assert (ran.status, message in ran.err, ran.out) == (2, True, "")
