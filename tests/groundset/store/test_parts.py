"""The parts of a large corpus: the same contents as in one file, whatever happens to a process or a file."""

import hashlib
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pytest
from loaded_run import loaded_run
from pyarrow import parquet
from scripted_run import StoppingEngine, generate, write_documents

from groundset.run import Run, save_run
from groundset.sets.transforms.merge import merge_runs
from groundset.store import parts
from groundset.store.folder import holds_run
from groundset.store.part_files import write_part
from groundset.store.parts import PartTable
from groundset.store.reviews import Review
from groundset.store.run_store import RunStore
from programs.errors import DamagedRunError, EngineError, InputError, RunError
from programs.types import Chunk, Context, Document, Reject, StepRecord

SMALL = 2_000  # characters of a part in these tests
COUNT = 40


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "PART_BYTES", SMALL)


DOCUMENTS = [Document(doc_id=f"d{n}", path=f"ä{n}.md", title="D", text=f"Text {n}. " * 40) for n in range(8)]
CHUNKS = [
    Chunk(chunk_id=f"c{n}", doc_id=f"d{n % 8}", path=f"ä{n % 8}.md", title="D", start=n, end=n + 9, text=f"Chunk é{n}.")
    for n in range(COUNT)
]
VECTORS = np.arange(COUNT * 16, dtype=np.float32).reshape(COUNT, 16)
CONTEXTS = {chunk.chunk_id: Context(chunk=chunk, passage=chunk.text * 20, topic="D", language="en") for chunk in CHUNKS}
ORDER = [n * 7 % COUNT for n in range(COUNT)]  # of the vectors


def create(folder: Path, **meta: Any) -> RunStore:
    return RunStore.create(folder, meta=meta, documents=DOCUMENTS, chunks=CHUNKS)


def readings(names: list[str]) -> Iterator[tuple[str, str]]:
    return ((name, CONTEXTS[name].model_dump_json(exclude={"chunk", "score", "split"})) for name in names)


def fill(store: RunStore) -> None:
    """Store what is missing of all columns, in small batches."""
    names = [chunk.chunk_id for chunk in store.chunks_missing("reading")]
    for start in range(0, len(names), 3):
        store.store_column("reading", readings(names[start : start + 3]))
    missing = {chunk.chunk_id for chunk in store.chunks_missing("vector")}
    for start in range(0, COUNT, 5):
        # Like preparation, which embeds a slice again if one of its chunks is missing.
        batch = ORDER[start : start + 5]
        if not missing.isdisjoint(f"c{n}" for n in batch):
            store.store_column("vector", ((f"c{n}", VECTORS[n].tobytes()) for n in batch))
    if store.corpus.is_missing("score"):
        score = StepRecord(step="chunk", probability=0.25, verdict="bad", reason="a list")
        reject = Reject(step="chunk", reason="a list", chunk_id="c39")
        store.store_column("score", ((chunk.chunk_id, score.model_dump_json()) for chunk in CHUNKS), [reject])


def contents(folder: Path) -> list[Any]:
    with RunStore.read(folder) as store:
        items = store.items
        return [
            store.documents(), store.chunks(), store.vectors().tolist(), list(store.contexts().items()),
            store.corpus_size(), items.document("d7"), items.document("x"), items.chunks(["c39", "x", "c0"]),
            list(items.rejects()), list(store.results.rejects()), store.corpus.is_missing("vector"),
        ]  # fmt: skip


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the same run without parts (``whole``) and with them (``run``)."""
    folder = tmp_path_factory.mktemp("made")
    for name, size in (("whole", 1 << 30), ("run", SMALL)):
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(parts, "PART_BYTES", size)
            with create(folder / name) as store:
                fill(store)
    assert not (folder / "whole" / "corpus").exists()
    return folder


@pytest.fixture(scope="module")
def whole(made: Path) -> list[Any]:
    return contents(made / "whole")


@pytest.fixture
def run(made: Path, tmp_path: Path) -> Path:
    return shutil.copytree(made / "run", tmp_path / "run")


def rows(folder: Path, statement: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(folder / "run.sqlite", isolation_level=None)) as connection:
        return connection.execute(statement).fetchall()


def test_large_corpus_is_in_parts(run: Path, whole: list[Any]) -> None:
    assert contents(run) == whole
    assert rows(run, "PRAGMA user_version") == [(3,)]
    kinds: dict[str, int] = {}
    for kind, number, sha256 in rows(run, "SELECT kind, number, sha256 FROM parts"):
        file = run / "corpus" / f"{kind}-{number:05}.parquet"
        assert hashlib.sha256(file.read_bytes()).hexdigest() == sha256
        kinds[kind] = kinds.get(kind, 0) + parquet.read_metadata(file).num_rows
    assert (kinds["documents"], kinds["chunks"]) == (8, COUNT)
    for column in ("reading", "vector"):
        assert kinds[column] + len(rows(run, f"SELECT 1 FROM gathered_{column}")) == COUNT
        assert kinds[column] > COUNT / 2
    assert not any("Chunk" in record + reading for record, reading in rows(run, "SELECT record, reading FROM chunks"))
    shutil.move(run, run.with_name("moved"))
    assert contents(run.with_name("moved")) == whole


@pytest.mark.parametrize(("method", "count"), [("write", 0), ("enter", 0), ("enter", 4)])
def test_killed_process_loses_nothing(
    tmp_path: Path, whole: list[Any], monkeypatch: pytest.MonkeyPatch, method: str, count: int
) -> None:
    create(tmp_path / "run").close()
    left = iter(range(count))
    real = getattr(PartTable, method)

    def killed(*arguments: Any) -> Any:
        if next(left, None) is None:
            raise KeyboardInterrupt
        return real(*arguments)

    with monkeypatch.context() as patched, RunStore.open(tmp_path / "run") as store:
        patched.setattr(PartTable, method, killed)
        with pytest.raises(KeyboardInterrupt):
            fill(store)
    assert contents_after(tmp_path / "run") == whole


def contents_after(folder: Path) -> list[Any]:
    """Continue the run, and return its contents."""
    with RunStore.open(folder) as store:
        store.corpus.mend()
        fill(store)
    return contents(folder)


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-9])


def change(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)


def read_kind(kind: str) -> Callable[[RunStore], Any]:
    read = {"documents": "documents", "chunks": "chunks", "reading": "contexts", "vector": "vectors"}[kind]
    return lambda store: getattr(store, read)()


@pytest.mark.parametrize(("harm", "how"), [(Path.unlink, "missing"), (cut, "damaged"), (change, "damaged")])
def test_harmed_values_are_computed_again(run: Path, whole: list[Any], harm: Callable[[Path], None], how: str) -> None:
    for kind in ("reading", "vector"):
        for file in sorted((run / "corpus").glob(f"{kind}-*"))[:2]:
            harm(file)
        with (
            RunStore.read(run) as store,
            pytest.raises(DamagedRunError, match=rf"{kind}-00000.parquet is {how}; .*gen"),
        ):
            read_kind(kind)(store)
    with RunStore.open(run) as store:
        assert len(store.corpus.mend()) == 3
        assert store.corpus.mend() == []
    assert contents_after(run) == whole


@pytest.mark.parametrize("harm", [Path.unlink, cut])
@pytest.mark.parametrize("kind", ["documents", "chunks"])
def test_harmed_texts_are_reported(run: Path, kind: str, harm: Callable[[Path], None]) -> None:
    harm(run / "corpus" / f"{kind}-00000.parquet")
    message = rf"{kind}-00000.parquet is (missing|damaged); copy the whole folder"
    with RunStore.read(run) as store, pytest.raises(DamagedRunError, match=message):
        read_kind(kind)(store)
    with RunStore.open(run) as store, pytest.raises(DamagedRunError, match=message):
        store.corpus.mend()


def test_part_without_rights_or_of_another_kind_is_refused(run: Path) -> None:
    file = run / "corpus" / "chunks-00000.parquet"
    file.rename(run / "kept")
    file.symlink_to(run / "kept")
    with RunStore.read(run) as store, pytest.raises(InputError, match="is not a regular file"):
        store.chunks()
    file.unlink()
    file.mkdir()
    with RunStore.read(run) as store, pytest.raises(InputError, match="is not a regular file"):
        store.chunks()
    shutil.move(run / "corpus", run / "other")
    (run / "corpus").symlink_to(run / "other")
    for open_store in (RunStore.read, RunStore.open):
        with pytest.raises(InputError, match="corpus is a symbolic link"):
            open_store(run)


TABLES: dict[str, Any] = {
    "other columns": pyarrow.table({"position": [0], "other": ["x"]}),
    "numbers as texts": pyarrow.table({"position": [0], "value": [1]}),
    "no text": pyarrow.table({"position": [0], "value": pyarrow.array([None], pyarrow.string())}),
    "vectors for texts": pyarrow.table(
        {"position": [0], "value": pyarrow.array([[1.0]], pyarrow.list_(pyarrow.float32(), 1))}
    ),
    "twice": pyarrow.table({"position": [0, 0], "value": ["{}", "{}"]}),
    "elsewhere": pyarrow.table({"position": [99], "value": ["{}"]}),
    "a bomb": pyarrow.table({"position": [0], "value": ["x" * (33 << 20)]}),
}


@pytest.mark.parametrize("name", [*TABLES, "no table"])
def test_part_of_a_stranger_is_refused(run: Path, name: str) -> None:
    file = run / "corpus" / "chunks-00000.parquet"
    if name in TABLES:
        parquet.write_table(TABLES[name], file, compression="zstd")
    else:
        file.write_bytes(b"PAR1 and more")
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    rows(run, f"UPDATE parts SET sha256 = '{digest}', first = 0, last = 0, rows = 1 WHERE kind = 'chunks'")
    with RunStore.read(run) as store, pytest.raises(DamagedRunError, match="damaged"):
        store.chunks()


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE parts SET kind = '../../chunks' WHERE kind = 'chunks'",
        "UPDATE parts SET rows = 0",
        "UPDATE parts SET number = -1 WHERE number = 0",
        "UPDATE parts SET first = 9 WHERE kind = 'chunks' AND number = 0",
        "UPDATE chunks SET record = '{}', chunk_id = chunk_id || 'x'",
        "DELETE FROM parts",
        "DROP TABLE gathered_vector",
        "UPDATE gathered_vector SET value = x'0000c07f'",
        "UPDATE gathered_vector SET position = 999 WHERE position = (SELECT max(position) FROM gathered_vector)",
        "DELETE FROM gathered_vector",
        "DELETE FROM gathered_reading",
    ],
)
def test_invalid_manifest_is_reported(run: Path, statement: str) -> None:
    rows(run, statement)
    with pytest.raises(DamagedRunError, match="damaged"):
        contents(run)


def test_failed_creation_leaves_nothing(tmp_path: Path) -> None:
    for documents in ([*DOCUMENTS, DOCUMENTS[0]], iter([*DOCUMENTS, None])):
        with pytest.raises((RunError, AttributeError)):
            RunStore.create(tmp_path / "run", meta={}, documents=documents, chunks=CHUNKS)  # type: ignore[arg-type]
        assert [path.name for path in (tmp_path / "run").iterdir()] == [".lock"]


def test_parts_of_a_killed_creation_are_replaced(tmp_path: Path, run: Path, whole: list[Any]) -> None:
    (run / "run.sqlite").unlink()
    (run / "corpus" / "vector-99999.parquet").write_bytes(b"old")
    assert not holds_run(run)
    with create(run) as store:
        assert not (run / "corpus" / "vector-99999.parquet").exists()
        fill(store)
    assert contents(run) == whole
    (tmp_path / "own" / "corpus").mkdir(parents=True)
    (tmp_path / "own" / "corpus" / "mine.parquet").write_bytes(b"mine")
    with pytest.raises(InputError, match="holds other files"):
        holds_run(tmp_path / "own")


def test_readers_follow_a_working_process(tmp_path: Path) -> None:
    with create(tmp_path / "run") as store, RunStore.read(tmp_path / "run") as reader:
        assert reader.chunks() == CHUNKS
        with pytest.raises(DamagedRunError):
            reader.vectors()
        fill(store)
        assert reader.vectors().tolist() == VECTORS.tolist()
        assert len(reader.contexts()) == COUNT


def test_full_disk_is_reported_and_nothing_lost(
    tmp_path: Path, whole: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*arguments: Any) -> Any:
        raise OSError(28, "No space left on device")

    with create(tmp_path / "run") as store, monkeypatch.context() as patched:
        patched.setattr(parts, "write_part", full)
        with pytest.raises(RunError, match=r"cannot write .*corpus/reading-00000.parquet: No space left"):
            fill(store)
    assert contents_after(tmp_path / "run") == whole


def test_vectors_of_different_lengths_are_reported(run: Path) -> None:
    file = run / "corpus" / "vector-00000.parquet"
    table = parquet.read_table(file)["position"].to_pylist()
    digest = write_part(file, [(position, b"\0\0\0\0") for position in table])
    rows(run, f"UPDATE parts SET sha256 = '{digest}' WHERE kind = 'vector' AND number = 0")
    with RunStore.read(run) as store, pytest.raises(DamagedRunError, match="vectors of different lengths"):
        store.vectors()


def test_samples_are_the_same_with_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    docs = write_documents(tmp_path / "docs", documents=3)
    with monkeypatch.context() as large:
        large.setattr(parts, "PART_BYTES", 1 << 30)
        with pytest.raises(EngineError):
            generate(docs, tmp_path / "old", StoppingEngine(9), size=4)  # as earlier versions leave it
    out = tmp_path / "run"
    with pytest.raises(EngineError):
        generate(docs, out, StoppingEngine(9), size=4)
    assert {file.name.split("-")[0] for file in (out / "corpus").iterdir()} == {
        "chunks",
        "documents",
        "reading",
        "vector",
    }
    for kind in ("reading", "vector"):
        cut(out / "corpus" / f"{kind}-00000.parquet")
    for folder in (tmp_path / "old", out):
        assert generate(docs, folder, size=4).ending == "complete"
    assert not (tmp_path / "old" / "corpus").exists()
    samples = (tmp_path / "old" / "samples.jsonl").read_bytes()
    (out / "corpus" / "vector-00000.parquet").unlink()
    assert generate(docs, out, size=4).ending == "complete"  # a finished run too
    assert (out / "samples.jsonl").read_bytes() == samples
    assert np.array_equal(Run.loaded(out).chunk_vectors, Run.loaded(tmp_path / "old").chunk_vectors)


def old_run(folder: Path) -> Path:
    """Return a run that an earlier version made."""
    folder.mkdir()
    with closing(sqlite3.connect(folder / "run.sqlite")) as connection:
        connection.executescript(Path(__file__).with_name("version_2.sql").read_text(encoding="utf-8"))
    return folder


def test_run_of_an_earlier_version_is_read_reviewed_and_merged(tmp_path: Path) -> None:
    old, made = old_run(tmp_path / "old"), loaded_run()
    loaded = Run.loaded(old)
    assert (loaded.samples, loaded.chunks, loaded.documents) == (made.samples, made.chunks, made.documents)
    assert np.array_equal(loaded.chunk_vectors, made.chunk_vectors)
    with RunStore.review(old) as store:
        store.reviews.add(Review(item="q-2", verdict="good"))
        assert [entry.documents for entry in store.items.rejects()] == [("ferry.md",)]
    with RunStore.open(old) as store:
        store.store_column("reading", [("ferry-0001", "{}")])
        assert len(store.chunks_missing("reading")) == 3
    assert rows(old, "PRAGMA user_version") == [(2,)]
    assert not (old / "corpus").exists()
    save_run(tmp_path / "other", made, made.lineage("import"))
    merge_runs([old, tmp_path / "other"], tmp_path / "merged")
    assert Run.loaded(tmp_path / "merged").chunks == made.chunks


def test_derived_run_has_parts_that_cannot_be_computed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "PART_BYTES", 300)
    made = loaded_run()
    save_run(tmp_path / "run", made, made.lineage("import"))
    assert Run.loaded(tmp_path / "run").chunks == made.chunks
    shutil.copytree(tmp_path / "run", tmp_path / "copy")
    merge_runs([tmp_path / "run", tmp_path / "copy"], tmp_path / "merged")
    assert np.array_equal(Run.loaded(tmp_path / "merged").chunk_vectors, made.chunk_vectors)
    (tmp_path / "merged" / "corpus" / "vector-00000.parquet").unlink()
    with pytest.raises(DamagedRunError, match=r"vector-00000\.parquet is missing; copy the whole folder"):
        Run.loaded(tmp_path / "merged")
