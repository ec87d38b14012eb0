"""Links in untrusted run folders do not give access to other files."""

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from loaded_run import loaded_run

from groundset.report.report import write_report
from groundset.run import save_run
from groundset.store.record import write_files
from groundset.store.run_store import RunStore
from programs.errors import InputError

WRITTEN = ("run.json", "samples.jsonl", "rejects.jsonl", "report.html")
OPENED = (".lock", "run.sqlite", "run.sqlite-wal", "run.sqlite-shm", "run.sqlite-journal")


@pytest.fixture
def run(tmp_path: Path) -> Path:
    made = loaded_run()
    save_run(tmp_path / "run", made, made.lineage("import"))
    return tmp_path / "run"


def text_of(file: Path) -> str | None:
    return file.read_text() if file.exists() else None


def write_everything(run: Path) -> None:
    with RunStore.open(run) as store:
        write_files(store, "complete")
    write_report(run)


@pytest.mark.parametrize("name", WRITTEN)
@pytest.mark.parametrize("exists", [True, False])
def test_written_files_replace_links(run: Path, tmp_path: Path, name: str, exists: bool) -> None:
    victim = tmp_path / "victim"
    if exists:
        victim.write_text("kept")
    (run / name).unlink(missing_ok=True)
    (run / name).symlink_to(victim)
    write_everything(run)
    assert (run / name).is_file()
    assert not (run / name).is_symlink()
    assert text_of(victim) == ("kept" if exists else None)


@pytest.mark.parametrize("name", WRITTEN)
def test_written_files_replace_pipes(run: Path, name: str) -> None:
    (run / name).unlink(missing_ok=True)
    os.mkfifo(run / name)
    write_everything(run)
    assert (run / name).is_file()


def test_link_given_as_output_is_followed(run: Path, tmp_path: Path) -> None:
    (tmp_path / "page.html").symlink_to(tmp_path / "elsewhere.html")
    write_report(run, tmp_path / "page.html")
    assert (tmp_path / "page.html").is_symlink()
    assert (tmp_path / "elsewhere.html").read_text().startswith("<!")


@pytest.mark.parametrize("name", OPENED)
@pytest.mark.parametrize("open_run", [RunStore.read, RunStore.open, RunStore.review])
def test_links_in_place_of_database_files_are_rejected(
    run: Path, tmp_path: Path, name: str, open_run: Callable[[Path], RunStore]
) -> None:
    victim = tmp_path / "victim"
    if (run / name).exists():
        (run / name).rename(victim)
    else:
        victim.write_bytes(b"kept")
    before = victim.read_bytes()
    (run / name).symlink_to(victim)
    with pytest.raises(InputError, match=f"{name} is a symbolic link"):
        open_run(run)
    assert victim.read_bytes() == before


@pytest.mark.parametrize("name", OPENED)
@pytest.mark.parametrize("exists", [True, False])
def test_create_rejects_links_in_place_of_database_files(run: Path, tmp_path: Path, name: str, exists: bool) -> None:
    victim = tmp_path / "victim"
    if exists:
        victim.write_text("kept")
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / name).symlink_to(victim)
    with pytest.raises(InputError, match=f"{name} is a symbolic link"):
        RunStore.create(tmp_path / "new", meta={}, documents=[], chunks=[])
    assert text_of(victim) == ("kept" if exists else None)


def test_pipe_in_place_of_a_database_file_is_rejected(run: Path) -> None:
    (run / "run.sqlite-wal").unlink(missing_ok=True)
    os.mkfifo(run / "run.sqlite-wal")
    with pytest.raises(InputError, match="wal is not a regular file"):
        RunStore.open(run)


def test_files_are_written_without_links(run: Path) -> None:
    write_everything(run)
    with closing(sqlite3.connect(run / "run.sqlite")) as connection:
        assert connection.execute("SELECT count(*) FROM samples").fetchone() == (4,)
