"""Untrusted run databases are read in bounded time or reported as damaged."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from loaded_run import loaded_run

from groundset.api import open_run
from groundset.run import Run, save_run
from groundset.sets.transforms.merge import merge_runs
from groundset.store.run_store import RunStore
from programs.errors import DamagedRunError, InputError

ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT"
SECRET = "the code of the safe"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    made = loaded_run()
    save_run(tmp_path / "run", made, made.lineage("import"))
    return tmp_path / "run"


def change(run: Path, *statements: str) -> None:
    with closing(sqlite3.connect(run / "run.sqlite", isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement)


@pytest.mark.parametrize(
    ("statements", "where"),
    [
        (["DROP TABLE samples", f"CREATE VIEW samples AS {ENDLESS} i AS position, 'x' AS id FROM n"], "view samples"),
        (["DROP TABLE sessions", f"CREATE VIEW sessions AS {ENDLESS} i AS number FROM n"], "view sessions"),
        (["CREATE TRIGGER t AFTER INSERT ON reviews BEGIN DELETE FROM samples; END"], "trigger t"),
        (["CREATE INDEX i ON samples (abs(position))"], "index i"),
        (["DROP TABLE samples", "CREATE VIRTUAL TABLE samples USING fts5(id, record)"], "samples"),
        (["DROP TABLE sessions", "CREATE TABLE sessions (number, started, seconds)"], "table sessions"),
        (["CREATE TABLE other (number)"], "table other"),
        (["DROP TABLE meta"], "table meta is missing"),
        (["UPDATE samples SET record = x'00'"], "table samples has values of the wrong type"),
        (["UPDATE sessions SET seconds = 'x'"], "table sessions has values of the wrong type"),
        (["UPDATE chunks SET vector = x'0000803f' WHERE position = 1"], "vectors of different lengths"),
        (["UPDATE samples SET vector = x''"], "vectors of different lengths"),
        (["UPDATE chunks SET vector = x'00'", "UPDATE samples SET vector = x'00'"], "vectors of different lengths"),
    ],
)
def test_foreign_schema_and_values_are_rejected(run: Path, statements: list[str], where: str) -> None:
    change(run, *statements)
    for open_store in (RunStore.read, RunStore.open, RunStore.review):
        with pytest.raises(DamagedRunError, match=rf"run\.sqlite: it is damaged \(.*{where}.*\); keep a copy"):
            open_store(run)


def replaced(before: str, after: str, table: str = "samples") -> str:
    return f"UPDATE {table} SET record = replace(record, '{before}', '{after}')"


@pytest.mark.parametrize(
    "statement",
    [
        replaced('"rank":1', f'"rank":1{30 * "0"}'),
        replaced('"rank":1', '"rank":0'),
        replaced('"probability":0.75', '"probability":NaN'),
        replaced('"probability":0.75', '"probability":1e400'),
        replaced('"kind":"time"', '"kind":Infinity'),
        replaced('"kind":"time"', f'"kind":1{30 * "0"}'),
        replaced('"id":"q-2"', '"id":"q-1"'),
        replaced('"chunk_id":"ferry-0001"', '"chunk_id":"ferry-0009"'),
        replaced('"doc_id":"ferry"', '"doc_id":"boat"'),
        replaced('"doc_id":"ferry"', '"doc_id":"boat"', "chunks"),
        replaced('"chunk_id":"ferry-0001"', '"chunk_id":"ferry-0002"', "chunks"),
        replaced('"start":0', '"start":-1', "chunks"),
        replaced('[["ferry-0001"]]', "[]"),
        f"UPDATE rejects SET record = '{'[' * 100_000}'",
        f"UPDATE samples SET record = CAST(x'{SECRET.encode().hex()}ff' AS TEXT) WHERE position = 1",
        "UPDATE samples SET vector = CAST(x'0000c07f' || substr(vector, 5) AS BLOB)",
        "DELETE FROM chunks",
        "DELETE FROM meta WHERE name = 'digest'",
        *(f"UPDATE meta SET value = '{value}' WHERE name = 'models'" for value in ("[]", "null", "{", '{"lm": 1}')),
        *(f"UPDATE meta SET value = '{value}' WHERE name = 'compiled'" for value in ("1", '{"judge": 1}', "[NaN]")),
        "UPDATE meta SET value = '{\"embedder\": 1}' WHERE name = 'configuration'",
        "UPDATE meta SET value = '[1]' WHERE name = 'skipped'",
        "UPDATE meta SET value = '{\"files\": -1}' WHERE name = 'corpus'",
        "UPDATE meta SET value = '{\"command\": \"x\"}' WHERE name = 'lineage'",
    ],
)
def test_invalid_contents_are_reported_but_not_quoted(run: Path, statement: str) -> None:
    change(run, statement)
    with pytest.raises(DamagedRunError, match=r"run\.sqlite: it is damaged") as caught:
        Run.loaded(run)
    assert SECRET not in str(caught.value)


def test_overflowing_totals_are_damage(run: Path) -> None:
    change(run, *(f"INSERT INTO calls VALUES ('{name}', '{{}}', {(1 << 63) - 1}, 0, 0, 0)" for name in "ab"))
    with RunStore.read(run) as store, pytest.raises(DamagedRunError, match="damaged"):
        store.calls.totals()
    change(run, "DELETE FROM calls", "INSERT INTO calls VALUES ('a', '{}', 0, 0, 0, 9e999)")
    with RunStore.read(run) as store, pytest.raises(DamagedRunError, match="damaged"):
        store.calls.totals()


def test_merge_rejects_vectors_of_different_lengths(run: Path, tmp_path: Path) -> None:
    made = loaded_run()
    save_run(tmp_path / "other", made, made.lineage("import"))
    change(run, "UPDATE chunks SET vector = x'0000803f'", "UPDATE samples SET vector = x'0000803f'")
    with pytest.raises(DamagedRunError, match="differ in length"):
        merge_runs([run, tmp_path / "other"], tmp_path / "merged")
    assert not (tmp_path / "merged").exists()


@pytest.mark.parametrize("text", ["[]", "null", "{}", '{"status": 1, "reason": null, "asked": 1}', "[" * 100_000])
def test_invalid_run_record_is_rejected(run: Path, text: str) -> None:
    (run / "run.json").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=r"run\.json: it is damaged"):
        open_run(run)


def test_shared_pages_are_detected(run: Path) -> None:
    """Pages with several parents would multiply the rows of a small file."""
    rows = "SELECT i, NULL, 'judge', json_object('filler', hex(zeroblob(400))) FROM n"
    change(run, f"WITH RECURSIVE n(i) AS (SELECT 9 UNION ALL SELECT i + 1 FROM n LIMIT 900) INSERT INTO rejects {rows}")
    file = run / "run.sqlite"
    with closing(sqlite3.connect(file)) as connection:
        [(root,)] = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'rejects'")
        [(size,)] = connection.execute("PRAGMA page_size")
    data = bytearray(file.read_bytes())
    page = memoryview(data)[(root - 1) * size : root * size]
    assert page[0] == 5, "an inner page of a table"
    cell = int.from_bytes(page[12:14], "big")
    page[8:12] = page[cell : cell + 4]  # the last child is the first one
    page.release()
    file.write_bytes(data)
    with pytest.raises(DamagedRunError, match="it is damaged"):
        RunStore.read(run)
