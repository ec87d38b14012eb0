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
from groundset.engine import making
from groundset.engine.models import Openers
from groundset.store.run_store import RunStore
from programs.errors import DamagedRunError, EngineError, GroundsetError

PAGE = 4096
CALLS = 12


class Result(NamedTuple):
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

    def scripted(language_model: Any, config: Any, out: Path, **options: Any) -> Any:
        openers = Openers(lm_opener(language_model), Encoder, lambda spec, **parts: CRITICS)
        return run_generation(config, out, openers=openers, recipe=scripted_recipe(), **options)

    run_generation = making.run_generation
    monkeypatch.setattr(commands.privacy, "set_defaults", lambda **kwargs: None)

    def run(*arguments: object, engine: Any = None) -> Result:
        used = engine or ScriptedEngine()
        monkeypatch.setattr(making, "run_generation", lambda *given, **options: scripted(used, *given, **options))
        with pytest.raises(SystemExit) as caught:
            commands.main([*map(str, arguments)])
        captured = capsys.readouterr()
        return Result(caught.value.code, captured.out, captured.err)

    return run


@pytest.fixture
def failed_run(run, tmp_path, tmp_path_factory) -> Path:
    """A failed run with some samples; a copy of one that is made once."""
    docs = write_documents(tmp_path / "docs", documents=2, paragraphs=2)
    out = tmp_path / "failed_run"
    made = tmp_path_factory.getbasetemp() / "failed_run"
    if not made.exists():
        result = run(*generate_arguments(docs, made), engine=EndingEngine())
        assert (result.status, "gone" in result.err) == (1, True), result
        assert (made / "samples.jsonl").read_text()
    shutil.copytree(made, out)
    return out


def generate_arguments(docs: Path, out: Path) -> tuple[object, ...]:
    settings = ("--size", 8, "--chunk-size", 300, "--min-length", 50, "--no-track", "--quiet")
    return ("generate", docs, "--out", out, *settings)


def command_arguments(folder: Path) -> dict[str, tuple[object, ...]]:
    return {
        "show": ("show", folder),
        "export": ("export", folder, "--format", "autorag", "--out", folder.parent / "autorag"),
        "generate": generate_arguments(folder.parent / "docs", folder),
    }


def check_refused(result: Result, command: str, folder: Path) -> None:
    assert result.status == 2, (command, result)
    assert result.out == ""
    lines = [line for line in result.err.split("\n") if line]
    assert lines[-1].startswith(f"groundset: error: {folder / 'run.sqlite'}"), result.err
    assert "unexpected" not in result.err
    assert "Traceback" not in result.err
    assert not (folder.parent / "autorag").exists()


def test_file_truncated_at_a_page_is_reported(run, failed_run, tmp_path):
    whole = (failed_run / "run.sqlite").read_bytes()
    pages = len(whole) // PAGE
    assert pages > 10
    assert len(whole) == pages * PAGE
    for page in range(pages):
        folder = tmp_path / f"cut{page}"
        shutil.copytree(failed_run, folder)
        (folder / "run.sqlite").write_bytes(whole[: page * PAGE])
        for command, arguments in command_arguments(folder).items():
            result = run(*arguments)
            check_refused(result, command, folder)
            assert len(result.err.strip().split("\n")) == 1
        shutil.rmtree(folder)
    shutil.copytree(failed_run, tmp_path / "whole")
    assert run(*command_arguments(tmp_path / "whole")["export"]).status == 0
    assert run(*command_arguments(tmp_path / "whole")["generate"]).status in (0, 3)


def read_all(folder: Path, open_store: Any) -> list[Any]:
    with open_store(folder) as store:
        results, attempts = store.results, store.attempts
        found = [store.documents(), store.chunks(), store.vectors().tolist(), store.contexts(), store.calls.totals()]
        found += [list(read()) for read in (results.samples, results.rejects, results.vectors, attempts.verdicts)]
        return [*found, [attempts.steps(number) for number in range(attempts.decided())], results.reasons()]


def test_file_truncated_within_a_page_is_reported_or_intact(failed_run):
    file = failed_run / "run.sqlite"
    whole, before = file.read_bytes(), repr(read_all(failed_run, RunStore.read))
    refused = 0
    for size in [*range(1000, len(whole), PAGE + 333), len(whole) - PAGE + 10, len(whole) - 500, len(whole) - 1]:
        for open_store in (RunStore.read, RunStore.open):
            file.write_bytes(whole[:size])
            try:
                result = repr(read_all(failed_run, open_store))
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
def test_invalid_rows_are_reported(run, failed_run, table, column, readers, wrong):
    with closing(sqlite3.connect(failed_run / "run.sqlite")) as connection:
        changed = connection.execute(f"UPDATE {table} SET {column} = ? WHERE position = 1", (wrong,))
        assert changed.rowcount == 1
        connection.commit()
    for command in readers:
        result = run(*command_arguments(failed_run)[command])
        check_refused(result, command, failed_run)


def test_other_invalid_values_are_reported(failed_run):
    statements = {
        "UPDATE meta SET value = '{'": lambda store: store.meta("asked"),
        "UPDATE calls SET record = '{'": lambda store: store.calls.get(digest),
        "UPDATE samples SET vector = x'0011'": lambda store: list(store.results.vectors()),
        "UPDATE chunks SET vector = NULL": lambda store: store.vectors(),
        "UPDATE attempts SET asked = '{' WHERE decided": lambda store: list(store.attempts.verdicts()),
        "UPDATE steps SET output = '{'": lambda store: store.attempts.steps(0),
    }
    # The store is opened first, as opening would detect some of the damage.
    with RunStore.read(failed_run) as store, closing(sqlite3.connect(failed_run / "run.sqlite")) as connection:
        [(digest,), *_] = connection.execute("SELECT digest FROM calls").fetchall()
        for statement in statements:
            assert connection.execute(statement).rowcount, statement
        connection.commit()
        for read in statements.values():
            with pytest.raises(DamagedRunError, match=r"run\.sqlite: it is damaged; keep a copy"):
                read(store)
