"""Truncated and modified run files are reported in one line."""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from dspy.lm15 import Request, Response
from scripted_run import CRITICS, Encoder, ScriptedEngine, lm_opener, scripted_recipe, write_documents

from groundset import commands
from groundset.engine import generation
from groundset.engine.models import Openers
from groundset.store.run_store import RunStore
from programs.errors import DamagedRunError, EngineError, GroundsetError

PAGE = 4096
CALLS = 12


class Ran(NamedTuple):
    status: int
    out: str
    err: str


class EndingEngine(ScriptedEngine):
    """Raises an error after ``CALLS`` calls."""

    calls = 0

    def complete(self, request: Request) -> Response:
        self.calls += 1
        if self.calls > CALLS:
            raise EngineError("gone")
        return super().complete(request)


@pytest.fixture
def run(capsys, monkeypatch):
    """Run a command in this process with scripted models."""

    def scripted(engine: Any, config: Any, out: Path, **options: Any) -> Any:
        openers = Openers(lm_opener(engine), Encoder, lambda spec, **parts: CRITICS)
        return run_generation(config, out, openers=openers, recipe=scripted_recipe(), **options)

    run_generation = generation.run_generation
    monkeypatch.setattr(commands.privacy, "set_defaults", lambda **kwargs: None)

    def run(*arguments: object, engine: Any = None) -> Ran:
        used = engine or ScriptedEngine()
        monkeypatch.setattr(generation, "run_generation", lambda *given, **options: scripted(used, *given, **options))
        with pytest.raises(SystemExit) as leaving:
            commands.main([*map(str, arguments)])
        captured = capsys.readouterr()
        return Ran(leaving.value.code, captured.out, captured.err)

    return run


@pytest.fixture
def begun(run, tmp_path) -> Path:
    """A failed run with some samples."""
    docs = write_documents(tmp_path / "docs", documents=2, paragraphs=2)
    out = tmp_path / "begun"
    ran = run(*generating(docs, out), engine=EndingEngine())
    assert (ran.status, "gone" in ran.err) == (1, True), ran
    assert (out / "samples.jsonl").read_text()
    return out


def generating(docs: Path, out: Path) -> tuple[object, ...]:
    settings = ("--size", 8, "--chunk-size", 300, "--min-length", 50, "--no-track", "--quiet")
    return ("generate", docs, "--out", out, *settings)


def every_command(folder: Path) -> dict[str, tuple[object, ...]]:
    return {
        "show": ("show", folder),
        "export": ("export", folder, "--format", "autorag", "--out", folder.parent / "autorag"),
        "generate": generating(folder.parent / "docs", folder),
    }


def check_refused(ran: Ran, command: str, folder: Path) -> None:
    assert ran.status == 2, (command, ran)
    assert ran.out == ""
    lines = [line for line in ran.err.split("\n") if line]
    assert lines[-1].startswith(f"groundset: error: {folder / 'run.sqlite'}"), ran.err
    assert "unexpected" not in ran.err
    assert "Traceback" not in ran.err
    assert not (folder.parent / "autorag").exists()


def test_file_truncated_at_a_page_is_reported(run, begun, tmp_path):
    whole = (begun / "run.sqlite").read_bytes()
    pages = len(whole) // PAGE
    assert pages > 10
    assert len(whole) == pages * PAGE
    for page in range(pages):
        folder = tmp_path / f"cut{page}"
        shutil.copytree(begun, folder)
        (folder / "run.sqlite").write_bytes(whole[: page * PAGE])
        for command, arguments in every_command(folder).items():
            ran = run(*arguments)
            check_refused(ran, command, folder)
            assert len(ran.err.strip().split("\n")) == 1
        shutil.rmtree(folder)
    shutil.copytree(begun, tmp_path / "whole")
    assert run(*every_command(tmp_path / "whole")["export"]).status == 0
    assert run(*every_command(tmp_path / "whole")["generate"]).status in (0, 3)


def all_of(folder: Path, way: Any) -> list[Any]:
    with way(folder) as store:
        results, attempts = store.results, store.attempts
        found = [store.documents(), store.chunks(), store.vectors().tolist(), store.contexts(), store.calls.totals()]
        found += [list(read()) for read in (results.samples, results.rejects, results.vectors, attempts.verdicts)]
        return [*found, [attempts.steps(number) for number in range(attempts.decided())], results.reasons()]


def test_file_truncated_within_a_page_is_reported_or_intact(begun):
    file = begun / "run.sqlite"
    whole, before = file.read_bytes(), repr(all_of(begun, RunStore.read))
    refused = 0
    for size in [*range(1000, len(whole), PAGE + 333), len(whole) - PAGE + 10, len(whole) - 500, len(whole) - 1]:
        for way in (RunStore.read, RunStore.open):
            file.write_bytes(whole[:size])
            try:
                result = repr(all_of(begun, way))
            except GroundsetError as error:
                result = str(error)
                refused += 1
            assert result == before or result.startswith(str(file))
    assert refused > 10


@pytest.mark.parametrize("wrong", ["{", "{}", "[]", "null", ""])
@pytest.mark.parametrize(
    ("table", "column", "readers"),
    [
        ("samples", "record", {"export", "generate"}),
        ("documents", "record", {"export"}),
        ("chunks", "record", {"export", "generate"}),
        ("chunks", "reading", {"generate"}),
        ("rejects", "record", {"generate"}),
    ],
)
def test_invalid_rows_are_reported(run, begun, table, column, readers, wrong):
    with closing(sqlite3.connect(begun / "run.sqlite")) as connection:
        changed = connection.execute(f"UPDATE {table} SET {column} = ? WHERE position = 1", (wrong,))
        assert changed.rowcount == 1
        connection.commit()
    for command in readers:
        ran = run(*every_command(begun)[command])
        check_refused(ran, command, begun)


def test_other_invalid_values_are_reported(begun):
    statements = {
        "UPDATE meta SET value = '{'": lambda store: store.meta("asked"),
        "UPDATE calls SET record = '{'": lambda store: store.calls.get(digest),
        "UPDATE samples SET vector = x'0011'": lambda store: list(store.results.vectors()),
        "UPDATE chunks SET vector = NULL": lambda store: store.vectors(),
        "UPDATE attempts SET asked = '{' WHERE decided": lambda store: list(store.attempts.verdicts()),
        "UPDATE steps SET output = '{'": lambda store: store.attempts.steps(0),
    }
    # The store is opened first, as opening would detect some of the damage.
    with RunStore.read(begun) as store, closing(sqlite3.connect(begun / "run.sqlite")) as connection:
        [(digest,), *_] = connection.execute("SELECT digest FROM calls").fetchall()
        for statement in statements:
            assert connection.execute(statement).rowcount, statement
        connection.commit()
        for read in statements.values():
            with pytest.raises(DamagedRunError, match=r"run\.sqlite: it is damaged; keep a copy"):
                read(store)
