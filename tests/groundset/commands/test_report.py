import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from reported_run import make_run


def test_the_command_writes_one_file_and_says_where(run: Any, tmp_path: Path) -> None:
    folder = make_run(tmp_path / "run")
    before = sorted(path.name for path in folder.iterdir())
    ran = run("report", folder)
    assert (ran.status, ran.out) == (0, f"Report: {folder / 'report.html'}.\n")
    assert sorted(path.name for path in folder.iterdir()) == sorted([*before, "report.html"])
    shown = run("report", folder, "--out", "-")
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert (shown.out, "Report: standard output." in shown.err) == (page, True)


def test_a_new_folder_is_made_for_it(run: Any, tmp_path: Path) -> None:
    out = tmp_path / "new" / "other.html"
    assert run("report", make_run(tmp_path / "run", samples=0), "--out", out).status == 0
    assert out.read_text(encoding="utf-8").startswith("<!doctype html>")


@pytest.mark.parametrize(
    ("out", "message"), [("x.txt", "give it a name that ends with .html"), (".", "it is a folder")]
)
def test_what_cannot_be_a_page_is_refused_first(run: Any, tmp_path: Path, out: str, message: str) -> None:
    ran = run("report", make_run(tmp_path / "run"), "--out", tmp_path / out)
    assert (ran.status, message in ran.err) == (2, True)


def test_no_run_is_wrong_input(run: Any, tmp_path: Path) -> None:
    ran = run("report", tmp_path)
    assert (ran.status, f"{tmp_path} is not the folder of a run" in ran.err) == (2, True)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device")
def test_a_full_disk_is_one_line(run: Any, tmp_path: Path) -> None:
    ran = run("report", make_run(tmp_path / "run", samples=0), "--out", "/dev/full")
    assert (ran.status, "No space left" in ran.err) == (2, True)


def test_a_damaged_run_is_one_line(run: Any, tmp_path: Path) -> None:
    folder = make_run(tmp_path / "run")
    with closing(sqlite3.connect(folder / "run.sqlite")) as database, database:
        database.execute("UPDATE samples SET record = '{}' WHERE position = 3")
    ran = run("report", folder)
    assert (ran.status, "it is damaged; keep a copy" in ran.err) == (2, True)
    assert not (folder / "report.html").exists()


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is closed to root")
def test_a_folder_that_cannot_be_written_is_one_line(run: Any, tmp_path: Path) -> None:
    folder = make_run(tmp_path / "run")
    folder.chmod(0o555)
    ran = run("report", folder)
    folder.chmod(0o755)
    assert (ran.status, f"cannot write {folder / 'report.html'}" in ran.err) == (2, True)
