"""The Parquet export is complete and has fixed types."""

import json

import pyarrow as pa
import pyarrow.parquet as pq

from groundset.sets.exporting import write_set
from groundset.sets.exports import EXPORTS
from groundset.sets.exports import parquet as exported
from programs.types import Chunk, Retrieval, Sample, StepRecord


def tables(full_run, out):
    write_set(full_run, [EXPORTS["parquet"]], out)
    return [pq.read_table(out / f"{name}.parquet") for name in ("questions", "corpus")]


def test_parquet_round_trip(full_run, samples, chunks, tmp_path, monkeypatch):
    monkeypatch.setattr(exported, "_ROW_GROUP", 3)  # more chunks than go into one group of rows
    chunks = [
        chunk.model_copy(update={"headings": ("A", "=B\u2028"), "metadata": {"page": [1, None]}}) for chunk in chunks
    ]
    trail = (StepRecord(step="judge", output={"good": 1.5, "why": "\0“x”"}, probability=0.25, verdict="good"),)
    rich = {
        "contexts": (chunks[1], chunks[3]),
        "retrieval": Retrieval(rank=None, retrieved_id="x", retrieved_content="y", score=0),
        "retrieval_gt": (("clock-0000", "ferry-0002"), ("ferry-0001",)),
        "split": "dev",
        "trail": trail,
        "metadata": {"kind": "time", "seed": 7},
    }
    wanted = [samples[0].model_copy(update={"contexts": (chunks[0],)}), samples[1].model_copy(update=rich)]
    questions, corpus = tables(full_run.replace(samples=wanted, chunks=chunks), tmp_path / "out")
    found = {row["chunk_id"]: Chunk(**{**row, "metadata": json.loads(row["metadata"])}) for row in corpus.to_pylist()}
    assert list(found.values()) == chunks
    assert [rebuilt(row, found) for row in questions.to_pylist()] == wanted
    assert [row["kind"] for row in questions.to_pylist()] == [None, "time"]


def rebuilt(row, chunks):
    same = ("id", "question", "answer", "evolution", "language", "split", "retrieval_gt", "probability")
    return Sample(
        **{name: row[name] for name in same},
        contexts=tuple(chunks[name] for name in row["chunk_ids"]),
        retrieval=Retrieval(**{name: row[name] for name in ("rank", "retrieved_id", "retrieved_content", "score")}),
        trail=tuple(json.loads(row["trail"])),
        metadata=json.loads(row["metadata"]),
    )


def test_parquet_types_without_values(full_run, samples, tmp_path):
    lost = Retrieval(rank=None, retrieved_id="x", retrieved_content="x", score=0)
    bare = [sample.model_copy(update={"retrieval": lost}) for sample in samples]
    questions, corpus = tables(full_run.replace(samples=bare), tmp_path / "out")
    types = {field.name: field.type for field in questions.schema}
    assert [types[name] for name in ("kind", "split", "rank")] == [pa.string(), pa.string(), pa.int64()]
    assert types["retrieval_gt"] == pa.list_(pa.list_(pa.string()))
    assert questions["rank"].null_count == 2
    assert corpus.schema.field("headings").type == pa.list_(pa.string())
