"""The AutoRAG export, read with pandas and checked like AutoRAG does."""

from datetime import datetime

import pandas as pd
import pytest

from groundset.run import Run
from groundset.sets.exporting import write_set
from groundset.sets.exports import EXPORTS


@pytest.fixture
def out(full_run: Run, tmp_path):
    write_set(full_run, [EXPORTS["autorag"]], tmp_path / "autorag")
    return tmp_path / "autorag"


def test_autorag_schema(documents, out):
    qa, corpus = (pd.read_parquet(out / f"{table}.parquet") for table in ("qa", "corpus"))
    assert (len(qa), len(corpus)) == (2, 4)

    assert list(qa.columns) == ["qid", "query", "retrieval_gt", "generation_gt"]
    assert list(corpus.columns) == ["doc_id", "contents", "path", "start_end_idx", "metadata"]
    for table, key in ((qa, "qid"), (corpus, "doc_id")):
        assert list(table.index) == list(range(len(table)))
        assert table[key].is_unique
    for column in (qa["qid"], qa["query"], corpus["doc_id"], corpus["contents"], corpus["path"]):
        assert all(isinstance(value, str) and value.strip() for value in column)

    known = set(corpus["doc_id"])
    for groups in qa["retrieval_gt"]:
        assert len(groups)
        for group in groups:
            assert len(group)
            assert set(group) <= known
    assert [[list(group) for group in groups] for groups in qa["retrieval_gt"]] == [
        [["ferry-0002"]],
        [["clock-0000"], ["ferry-0001"]],
    ]
    assert [list(answers) for answers in qa["generation_gt"]] == [["That it is “fine”."]] * 2

    texts = {source.path: source.text for source in documents}
    for row in corpus.itertuples():
        start, end = (int(place) for place in row.start_end_idx)
        assert texts[row.path][start:end] == row.contents
        assert {"last_modified_datetime", "prev_id", "next_id"} <= set(row.metadata)
        assert isinstance(row.metadata["last_modified_datetime"], datetime)


def test_autorag_neighbours_follow_the_document(out):
    corpus = pd.read_parquet(out / "corpus.parquet")
    neighbours = {row.doc_id: (row.metadata["prev_id"], row.metadata["next_id"]) for row in corpus.itertuples()}
    assert neighbours == {
        "ferry-0000": (None, "ferry-0001"),
        "ferry-0001": ("ferry-0000", "ferry-0002"),
        "ferry-0002": ("ferry-0001", None),
        "clock-0000": (None, None),
    }


def test_autorag_times_are_naive_utc(out):
    corpus = pd.read_parquet(out / "corpus.parquet")
    times = {row.doc_id: row.metadata["last_modified_datetime"] for row in corpus.itertuples()}
    assert times["ferry-0000"] == datetime(2025, 7, 1, 10)
    assert times["clock-0000"] == datetime(2026, 3, 4, 5, 6, 7)


def test_autorag_ignores_invalid_offsets_and_times(full_run, chunks, tmp_path):
    odd = {"start_end_idx": [0, 2**70], "last_modified_datetime": "0001-01-01T00:00:00+05:00"}
    changed = [chunks[0].model_copy(update={"metadata": odd}), *chunks[1:]]
    write_set(full_run.replace(chunks=changed), [EXPORTS["autorag"]], tmp_path / "odd")
    row = pd.read_parquet(tmp_path / "odd" / "corpus.parquet").iloc[0]
    assert row["start_end_idx"].tolist() == [chunks[0].start, chunks[0].end]
    assert row["metadata"]["last_modified_datetime"] == datetime(2025, 7, 1, 10)
