import numpy as np
import pandas as pd
import pytest

from groundset.sets.exporting import exported_run
from groundset.sets.exports import EXPORTS
from groundset.store.reviews import Review
from groundset.store.run_store import RunStore
from groundset.store.tables import Verdict
from programs.types import Attempt, Chunk, Context, Document, Retrieval, Sample

TEXT = "The ferry leaves Tollvik at nine."
DOCUMENT = Document(doc_id="ferry", path="ferry.md", title="Ferry", text=TEXT)
CHUNK = Chunk(chunk_id="ferry-0000", doc_id="ferry", path="ferry.md", title="Ferry", start=0, end=len(TEXT), text=TEXT)
SAMPLE = Sample(
    id="q-1",
    question="When does the ferry leave Tollvik?",
    answer="at nine",
    evolution="simple",
    language="en",
    contexts=(CHUNK,),
    retrieval_gt=(("ferry-0000",),),
    retrieval=Retrieval(rank=1, retrieved_id="ferry-0000", retrieved_content=TEXT, score=1),
    probability=0.9,
    trail=(),
)


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "run"
    folder.mkdir()
    with RunStore.create(folder, meta={}, documents=[DOCUMENT], chunks=[CHUNK]) as store:
        store.begin_session()
        context = Context(chunk=CHUNK, passage=TEXT, topic="Ferry", language="en")
        store.attempts.begin(Attempt(number=0, contexts=(context,), wanted="simple"))
        store.results.decide(0, Verdict("simple", False), SAMPLE, np.ones(4, dtype=np.float32), [])
    return folder


def test_export_autorag(run, folder, tmp_path):
    out = tmp_path / "autorag"
    ran = run("export", folder, "--format", "autorag", "--out", out)
    assert (ran.status, ran.err) == (0, "")
    assert ran.out == f"1 questions and 1 chunks: {out}.\n"
    assert pd.read_parquet(out / "qa.parquet")["query"].tolist() == [SAMPLE.question]
    corpus = pd.read_parquet(out / "corpus.parquet")
    assert corpus["contents"].tolist() == [TEXT]
    assert corpus["metadata"][0]["last_modified_datetime"] is not None


def test_chunks_are_counted_for_formats_with_a_corpus(run, folder, tmp_path):
    with RunStore.open(folder) as store:
        store.store_column("vector", [(CHUNK.chunk_id, np.ones(4, dtype=np.float32).tobytes())])
    for formats, chunks in (("argilla,deepeval,ragas,triplets", ""), ("ragas,csv", " and 1 chunks")):
        ran = run("export", folder, "--format", formats, "--out", tmp_path / formats)
        assert ran.out == f"1 questions{chunks}: {tmp_path / formats}.\n"


def test_export_into_the_run_folder(run, folder):
    assert run("export", folder, "--format", "autorag", "--out", folder / "autorag").status == 0
    assert run("export", folder, "--format", "autorag", "--out", folder / "autorag").status == 0
    ran = run("export", folder, "--format", "autorag", "--out", folder)
    assert (ran.status, f"--out {folder}: is the folder of a run" in ran.err) == (2, True)


def test_export_needs_a_run_with_samples(run, tmp_path):
    empty = tmp_path / "run"
    empty.mkdir()
    RunStore.create(empty, meta={}, documents=[DOCUMENT], chunks=[CHUNK]).close()
    for folder, message in ((empty, "holds no samples"), (tmp_path, "is not the folder of a run")):
        ran = run("export", folder, "--format", "autorag", "--out", tmp_path / "autorag")
        assert (ran.status, message in ran.err) == (2, True)
        assert not (tmp_path / "autorag").exists()


def test_export_applies_reviews(run, folder, tmp_path):
    ran = run("export", folder, "--format", "autorag", "--out", tmp_path / "signed", "--signed")
    assert (ran.status, f"no sample of {folder} is signed" in ran.err) == (2, True)

    def read(reader, verdict, **texts):
        with RunStore.review(folder) as store:
            store.reviews.add(Review(item="q-1", reader=reader, verdict=verdict, **texts))

    def exported():
        ran = run("export", folder, "--format", "autorag", "--out", tmp_path / "out", "--signed")
        return pd.read_parquet(tmp_path / "out" / "qa.parquet")["query"].tolist() if ran.status == 0 else ran.err

    read("ann", "good", question="At what hour does the ferry leave Tollvik?")
    assert [review.reader for review in exported_run(folder).reviews] == ["ann"]
    assert exported() == ["At what hour does the ferry leave Tollvik?"]
    read("bob", "good", answer="nine o'clock")
    assert exported() == [SAMPLE.question], "no question of one reader with the answer of another"
    read("bob", "bad", reason="vague")
    assert "is signed" in exported(), "two who disagree sign nothing"
    assert run("export", folder, "--format", "autorag", "--out", tmp_path / "all").status == 0
    read("ann", "bad", reason="vague")
    ran = run("export", folder, "--format", "autorag", "--out", tmp_path / "all")
    assert (ran.status, f"reviewers refused every sample of {folder}" in ran.err) == (2, True)
    read("ann", None)
    read("bob", None)
    assert run("export", folder, "--format", "autorag", "--out", tmp_path / "all").status == 0
    assert pd.read_parquet(tmp_path / "all" / "qa.parquet")["query"].tolist() == [SAMPLE.question]


def test_all_formats_and_vectors_of_kept_questions(run, folder, tmp_path):
    near, far = (np.eye(4, dtype=np.float32)[place] for place in (0, 1))
    with RunStore.open(folder) as store:
        store.store_column("vector", [(CHUNK.chunk_id, near.tobytes())])
        for number, vector in ((1, near), (2, far)):
            store.attempts.begin(Attempt(number=number, contexts=(), wanted="simple"))
            sample = SAMPLE.model_copy(update={"id": f"q-{number + 1}", "question": f"{SAMPLE.question} {number}"})
            store.results.decide(number, Verdict("simple", False), sample, vector, [])
    with RunStore.review(folder) as store:
        store.reviews.add(Review(item="q-1", reader="ann", verdict="bad", reason="vague"))
    content = exported_run(folder)
    assert [sample.id for sample in content.samples] == ["q-2", "q-3"]
    assert content.question_vectors.tolist() == [near.tolist(), far.tolist()]
    ran = run("export", folder, "--format", ",".join(EXPORTS), "--out", tmp_path / "all")
    assert (ran.status, ran.err) == (0, "")
    assert sorted(path.name for path in (tmp_path / "all").iterdir()) == sorted(EXPORTS)
