"""The exported tables are read again with pandas and held against AutoRAG's documented schema and its own checks."""

from collections.abc import Iterator
from datetime import datetime

import numpy as np
import pandas as pd
import pytest

from groundset.run import Run
from groundset.sets.exporting import write_set
from groundset.sets.exports import EXPORTS


@pytest.fixture
def out(content: Run, tmp_path):
    write_set(content, [EXPORTS["autorag"]], tmp_path / "autorag")
    return tmp_path / "autorag"


def test_pandas_reads_what_autorag_expects(documents, out):
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


def test_neighbours_follow_the_document_whatever_the_order_of_the_run(out):
    corpus = pd.read_parquet(out / "corpus.parquet")
    neighbours = {row.doc_id: (row.metadata["prev_id"], row.metadata["next_id"]) for row in corpus.itertuples()}
    assert neighbours == {
        "ferry-0000": (None, "ferry-0001"),
        "ferry-0001": ("ferry-0000", "ferry-0002"),
        "ferry-0002": ("ferry-0001", None),
        "clock-0000": (None, None),
    }


def test_times_are_utc_without_a_zone_so_that_autorag_can_compare_them(out):
    corpus = pd.read_parquet(out / "corpus.parquet")
    times = {row.doc_id: row.metadata["last_modified_datetime"] for row in corpus.itertuples()}
    assert times["ferry-0000"] == datetime(2025, 7, 1, 10)
    assert times["clock-0000"] == datetime(2026, 3, 4, 5, 6, 7)


def test_what_no_table_holds_of_a_chunk_is_its_own_place_and_the_time_of_its_document(content, chunks, tmp_path):
    odd = {"start_end_idx": [0, 2**70], "last_modified_datetime": "0001-01-01T00:00:00+05:00"}
    told = [chunks[0].model_copy(update={"metadata": odd}), *chunks[1:]]
    write_set(content.replace(chunks=told), [EXPORTS["autorag"]], tmp_path / "odd")
    row = pd.read_parquet(tmp_path / "odd" / "corpus.parquet").iloc[0]
    assert row["start_end_idx"].tolist() == [chunks[0].start, chunks[0].end]
    assert row["metadata"]["last_modified_datetime"] == datetime(2025, 7, 1, 10)


def as_lists(groups):
    """Return ground truth as AutoRAG casts it: one id, or a list, is a list of lists."""
    if isinstance(groups, np.ndarray):
        groups = groups.tolist()
    if isinstance(groups, str):
        return [[groups]]
    if isinstance(groups[0], str):
        return [groups]
    return [list(group) for group in groups]


def refused_by_autorag(qa: pd.DataFrame, corpus: pd.DataFrame) -> Iterator[str]:
    """Yield what AutoRAG would refuse of two tables when it starts, or trip over later.

    In our words what ``cast_qa_dataset``, ``cast_corpus_dataset`` and ``validate_qa_from_corpus_dataset`` of its
    ``autorag/utils/preprocess.py`` assert (read in 0.3), and what its documentation and its modules (recency filter,
    time reranker, previous and next passages) want beyond that.
    """
    for table, columns in ((qa, "qid query retrieval_gt generation_gt"), (corpus, "doc_id contents metadata")):
        for column in columns.split():
            if column not in table:
                yield f"no column {column}"
                return
    for column in (qa["qid"], qa["query"], corpus["doc_id"]):
        if not all(isinstance(value, str) for value in column):
            yield f"{column.name} is not text"
    for column in (qa["qid"], corpus["doc_id"]):
        if not column.is_unique:
            yield f"{column.name} is not unique"
    # Rows without contents are dropped first, so ids that only they had are missing.
    kept = corpus[[bool(text) and not text.isspace() for text in corpus["contents"]]]
    ids = {*kept["doc_id"]}
    for groups in map(as_lists, qa["retrieval_gt"]):
        if not all(groups):
            yield "an empty group"
        if not ids.issuperset(name for group in groups for name in group):
            yield "an id that the corpus does not hold"
    if not all(len(answers) and all(isinstance(answer, str) for answer in answers) for answers in qa["generation_gt"]):
        yield "no answer"
    for row in kept.itertuples():
        modified = row.metadata.get("last_modified_datetime")
        if not isinstance(modified, datetime) or modified.tzinfo:
            yield "no time to compare"
        for name in ("prev_id", "next_id"):
            if name not in row.metadata or row.metadata[name] not in {None, *ids}:
                yield f"no {name}"
        start, end = row.start_end_idx
        if end - start != len(row.contents):
            yield "a span of another length"


def tables(out):
    return [pd.read_parquet(out / f"{name}.parquet") for name in ("qa", "corpus")]


def test_autorag_starts_with_both_tables(content, samples, chunks, tmp_path):
    several = {"retrieval_gt": (("clock-0000", "ferry-0002"), ("ferry-0001",)), "answer": "=1\r\n\0"}
    changed = content.replace(samples=[samples[0], samples[1].model_copy(update=several)])
    write_set(changed, [EXPORTS["autorag"]], tmp_path / "out")
    assert list(refused_by_autorag(*tables(tmp_path / "out"))) == []


def replace_places(corpus, **changes):
    corpus["metadata"] = [{**place, **changes} for place in corpus["metadata"]]


@pytest.mark.parametrize(
    ("expected", "change"),
    [
        ("no column query", lambda qa, corpus: qa.pop("query")),
        ("no column metadata", lambda qa, corpus: corpus.pop("metadata")),
        ("qid is not text", lambda qa, corpus: qa.isetitem(0, [1, 2])),
        ("qid is not unique", lambda qa, corpus: qa.isetitem(0, ["q-1", "q-1"])),
        ("doc_id is not unique", lambda qa, corpus: corpus.isetitem(0, ["ferry-0002"] * 4)),
        ("an id that the corpus does not hold", lambda qa, corpus: qa.isetitem(2, ["clock-0000", "lost"])),
        ("an id that the corpus does not hold", lambda qa, corpus: corpus.isetitem(1, [" "] * 4)),
        ("an empty group", lambda qa, corpus: qa.isetitem(2, [[["clock-0000"], []]] * 2)),
        ("no answer", lambda qa, corpus: qa.isetitem(3, [[], ["x"]])),
        (
            "no time to compare",
            lambda qa, corpus: replace_places(corpus, last_modified_datetime=None),
        ),
        ("no next_id", lambda qa, corpus: replace_places(corpus, next_id="lost")),
        ("a span of another length", lambda qa, corpus: corpus.isetitem(3, [[0, 1]] * 4)),
    ],
)
def test_what_autorag_refuses_is_seen(out, expected, change):
    qa, corpus = tables(out)
    change(qa, corpus)
    assert expected in list(refused_by_autorag(qa, corpus))
