"""The exported tables are read again with pandas and held against AutoRAG's documented schema."""

import shutil
import subprocess
import sys
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pandas as pd
import pytest

from groundset.exports.autorag import export_autorag
from programs.errors import InputError
from programs.types import Chunk, Document, Retrieval, Sample

MADE = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)
EAST = timezone(timedelta(hours=2))


def document(name: str, chunks: int, modified: datetime | None = None) -> Document:
    text = "\n".join(f"{name} says that number {number} is “fine”." for number in range(chunks))
    return Document(doc_id=name, path=f"{name}.md", title=name.title(), text=text, last_modified=modified)


def cut(source: Document) -> list[Chunk]:
    chunks, start = [], 0
    for number, line in enumerate(source.text.split("\n")):
        chunks.append(
            Chunk(
                chunk_id=f"{source.doc_id}-{number:04d}",
                doc_id=source.doc_id,
                path=source.path,
                title=source.title,
                start=start,
                end=start + len(line),
                text=line,
            )
        )
        start += len(line) + 1
    return chunks


def sample(name: str, *contexts: Chunk, **changes: object) -> Sample:
    first = contexts[0]
    fields = {
        "id": name,
        "question": f"What does {first.title} say?",
        "answer": "That it is “fine”.",
        "evolution": "simple",
        "language": "en",
        "contexts": contexts,
        "retrieval_gt": tuple((chunk.chunk_id,) for chunk in contexts),
        "retrieval": Retrieval(rank=1, retrieved_id=first.chunk_id, retrieved_content=first.text, score=1),
        "probability": 0.9,
        "trail": (),
        **changes,
    }
    return Sample(**fields)


@pytest.fixture
def documents() -> list[Document]:
    return [document("ferry", 3, datetime(2025, 7, 1, 12, tzinfo=EAST)), document("clock", 1)]


@pytest.fixture
def chunks(documents: list[Document]) -> list[Chunk]:
    ferry, clock = (cut(source) for source in documents)
    # The order of a run is the order in which chunks are drawn, not that of the documents.
    return [ferry[2], clock[0], ferry[0], ferry[1]]


@pytest.fixture
def samples(chunks: list[Chunk]) -> list[Sample]:
    return [sample("q-1", chunks[0]), sample("q-2", chunks[1], chunks[3])]


def test_pandas_reads_what_autorag_expects(documents, chunks, samples, tmp_path):
    written = export_autorag(samples, chunks, documents, tmp_path / "autorag", made_at=MADE)
    qa, corpus = (pd.read_parquet(tmp_path / "autorag" / f"{table}.parquet") for table in ("qa", "corpus"))
    assert (written.questions, written.chunks) == (len(qa), len(corpus)) == (2, 4)

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


def test_neighbours_follow_the_document_whatever_the_order_of_the_run(documents, chunks, samples, tmp_path):
    export_autorag(samples, chunks, documents, tmp_path, made_at=MADE)
    corpus = pd.read_parquet(tmp_path / "corpus.parquet")
    neighbours = {row.doc_id: (row.metadata["prev_id"], row.metadata["next_id"]) for row in corpus.itertuples()}
    assert neighbours == {
        "ferry-0000": (None, "ferry-0001"),
        "ferry-0001": ("ferry-0000", "ferry-0002"),
        "ferry-0002": ("ferry-0001", None),
        "clock-0000": (None, None),
    }


def test_times_are_utc_without_a_zone_so_that_autorag_can_compare_them(documents, chunks, samples, tmp_path):
    export_autorag(samples, chunks, documents, tmp_path, made_at=MADE)
    corpus = pd.read_parquet(tmp_path / "corpus.parquet")
    times = {row.doc_id: row.metadata["last_modified_datetime"] for row in corpus.itertuples()}
    assert times["ferry-0000"] == datetime(2025, 7, 1, 10)
    assert times["clock-0000"] == datetime(2026, 3, 4, 5, 6, 7)


def test_an_earlier_export_is_replaced(documents, chunks, samples, tmp_path):
    export_autorag(samples, chunks, documents, tmp_path, made_at=MADE)
    (tmp_path / ".qa.parquet.x1.groundset-part").write_text("left by a killed process")
    export_autorag(samples[:1], chunks, documents, tmp_path, made_at=MADE)
    assert len(pd.read_parquet(tmp_path / "qa.parquet")) == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["corpus.parquet", "qa.parquet"]


def test_a_folder_with_other_files_is_refused(documents, chunks, samples, tmp_path):
    (tmp_path / "thesis.docx").write_text("precious")
    with pytest.raises(InputError, match=r"holds other files \(thesis\.docx\)"):
        export_autorag(samples, chunks, documents, tmp_path, made_at=MADE)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.docx"]


def test_a_file_in_the_place_of_the_folder_is_refused(documents, chunks, samples, tmp_path):
    (tmp_path / "out").write_text("a file")
    with pytest.raises(InputError, match="is a file, not a folder"):
        export_autorag(samples, chunks, documents, tmp_path / "out", made_at=MADE)


def test_invalid_tables_are_refused_before_anything_is_written(documents, chunks, samples, tmp_path):
    good = samples[0]
    cases = [
        ([], chunks, documents, "no samples"),
        ([good, good], chunks, documents, "question id q-1 occurs twice"),
        ([good], [*chunks, chunks[0]], documents, "chunk id ferry-0002 occurs twice"),
        ([good], chunks[1:], documents, "rests on chunk ferry-0002, which the run does not hold"),
        ([sample("q-3", chunks[0], retrieval_gt=())], chunks, documents, "no ground-truth chunk"),
        ([sample("q-3", chunks[0], answer=" ")], chunks, documents, "no question or no answer"),
        ([good], chunks, documents[:1], "belongs to document clock, which is missing"),
        ([good], [*chunks, chunks[0].model_copy(update={"chunk_id": "x", "text": " "})], documents, "empty"),
    ]
    for some_samples, some_chunks, some_documents, message in cases:
        with pytest.raises(InputError, match=message):
            export_autorag(some_samples, some_chunks, some_documents, tmp_path / "new", made_at=MADE)
    assert not (tmp_path / "new").exists()


def test_a_failure_leaves_the_earlier_export_untouched(documents, chunks, samples, tmp_path, monkeypatch):
    export_autorag(samples, chunks, documents, tmp_path, made_at=MADE)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    import pyarrow.parquet as pq

    real = pq.write_table

    def full_disk(table: object, path: Path) -> None:
        if path.name == "qa.parquet":
            raise OSError(28, "No space left on device")
        real(table, path)

    monkeypatch.setattr(pq, "write_table", full_disk)
    with pytest.raises(InputError, match="No space left on device"):
        export_autorag(samples[:1], chunks[:1], documents, tmp_path, made_at=MADE)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


DYING = """import os, sys
from datetime import UTC, datetime
from pathlib import Path
from groundset import folders
from groundset.exports.autorag import export_autorag
from programs.types import Chunk, Document, Retrieval, Sample

out, name, dies_at, exchanges = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), sys.argv[4] == "yes"
steps = 0

def dying(step):
    def counted(*arguments, **options):
        global steps
        steps += 1
        if steps == dies_at:
            os._exit(9)
        return step(*arguments, **options)
    return counted

def refuse(first, second):
    raise OSError(38, "Function not implemented")

os.rename, os.replace, os.unlink = dying(os.rename), dying(os.replace), dying(os.unlink)
folders._exchange = dying(folders._exchange) if exchanges else refuse
chunk = Chunk(chunk_id=name, doc_id=name, path="a.md", title="A", start=0, end=1, text="a")
sample = Sample(id=name, question="Q?", answer="a", evolution="simple", language="en", contexts=(chunk,),
    retrieval_gt=((name,),), retrieval=Retrieval(rank=1, retrieved_id=name, retrieved_content="a", score=1),
    probability=1, trail=())
document = Document(doc_id=name, path="a.md", title="A", text="a")
export_autorag([sample], [chunk], [document], out, made_at=datetime(2026, 1, 1, tzinfo=UTC))
"""


def exported(out: Path) -> set[str]:
    """Return the names of the exports that the tables of a folder come from; nothing where there are no questions."""
    tables = [("qa.parquet", "qid"), ("corpus.parquet", "doc_id")]
    if not (out / "qa.parquet").exists():
        return set()
    return {name for table, key in tables for name in pd.read_parquet(out / table)[key]}


@pytest.mark.parametrize("exchanges", ["yes", "no"])
@pytest.mark.parametrize("before", [set(), {"old"}])
def test_a_kill_at_any_step_leaves_one_export_or_the_other(tmp_path, before, exchanges):
    def export(name: str, dies_at: int) -> int:
        command = [sys.executable, "-c", DYING, str(out), name, str(dies_at), exchanges]
        return subprocess.run(command, check=False).returncode

    out = tmp_path / "autorag"
    seen, status, dies_at = [], 9, 0
    while status == 9:
        dies_at += 1
        if before:
            assert export("old", 0) == 0
        else:
            shutil.rmtree(out, ignore_errors=True)
        status = export("new", dies_at)
        seen.append(exported(out))
    assert (status, seen[-1]) == (0, {"new"})
    assert [path.name for path in tmp_path.iterdir()] == ["autorag"], "what killed ones left is gone"
    # Where folders cannot change places, there are no questions for a moment; never those of the other corpus.
    allowed = [before, {"new"}] if exchanges == "yes" else [before, {"new"}, set()]
    assert all(each in allowed for each in seen)
    assert before in seen
