import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from reported_run import make_run


def test_report_command(run: Any, tmp_path: Path) -> None:
    folder = make_run(tmp_path / "run")
    before = sorted(path.name for path in folder.iterdir())
    ran = run("report", folder)
    assert (ran.status, ran.out) == (0, f"Report: {folder / 'report.html'}.\n")
    assert sorted(path.name for path in folder.iterdir()) == sorted([*before, "report.html"])
    shown = run("report", folder, "--out", "-")
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert (shown.out, "Report: standard output." in shown.err) == (page, True)


def test_report_creates_folders(run: Any, tmp_path: Path) -> None:
    out = tmp_path / "new" / "other.html"
    assert run("report", make_run(tmp_path / "run", samples=0), "--out", out).status == 0
    assert out.read_text(encoding="utf-8").startswith("<!doctype html>")


@pytest.mark.parametrize(("out", "message"), [("x.txt", "must end with .html"), (".", "it is a folder")])
def test_invalid_target(run: Any, tmp_path: Path, out: str, message: str) -> None:
    ran = run("report", make_run(tmp_path / "run"), "--out", tmp_path / out)
    assert (ran.status, message in ran.err) == (2, True)


def test_not_a_run(run: Any, tmp_path: Path) -> None:
    ran = run("report", tmp_path)
    assert (ran.status, f"{tmp_path} is not the folder of a run" in ran.err) == (2, True)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_full_disk(run: Any, tmp_path: Path) -> None:
    ran = run("report", make_run(tmp_path / "run", samples=0), "--out", "/dev/full")
    assert (ran.status, "No space left" in ran.err) == (2, True)


def test_damaged_run(run: Any, tmp_path: Path) -> None:
    folder = make_run(tmp_path / "run")
    with closing(sqlite3.connect(folder / "run.sqlite")) as database, database:
        database.execute("UPDATE samples SET record = '{}' WHERE position = 3")
    ran = run("report", folder)
    assert (ran.status, "it is damaged; keep a copy" in ran.err) == (2, True)
    assert not (folder / "report.html").exists()


@pytest.mark.skipif(os.geteuid() == 0, reason="root can write everywhere")
def test_read_only_folder(run: Any, tmp_path: Path) -> None:
    folder = make_run(tmp_path / "run")
    folder.chmod(0o555)
    ran = run("report", folder)
    folder.chmod(0o755)
    assert (ran.status, f"cannot write {folder / 'report.html'}" in ran.err) == (2, True)
