"""Evaluation datasets of MLflow, and the scorers that read them."""

from collections.abc import Iterator
from pathlib import Path

import mlflow
import pytest
from evaluation_sets import sample, saved, two_documents
from refusal import refuses

import groundset
from groundset.scorers import gold_rank, gold_recall

PAGE = Path(__file__).parents[2] / "docs" / "reviewing.md"
EVIDENCE = "the evidence of the second chunk"
GOLD = [
    {"doc_uri": "a.md", "content": "The *first*\nchunk.", "chunk_id": "a-0", "group": 0},
    {"doc_uri": "b.md", "content": "One more.", "chunk_id": "b-0", "group": 0},
    {
        "doc_uri": "c.md",
        "content": f"Here is {EVIDENCE}.",
        "chunk_id": "c-0",
        "group": 1,
        "evidence": [EVIDENCE],
    },
]


@pytest.fixture
def notebook(tmp_path, monkeypatch) -> Iterator[None]:
    """A working folder with a run, and MLflow as it was afterwards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", before := mlflow.get_tracking_uri())
    saved(tmp_path / "out" / "demo")
    yield
    mlflow.set_tracking_uri(before)


@pytest.mark.filterwarnings("ignore")  # MLflow's own, when it imports its flavors
def test_the_cell_of_the_page_evaluates_a_dataset_that_is_extended(notebook):
    seen = {}
    exec(PAGE.read_text("utf-8").partition("```python\n")[2].partition("```")[0], seen)
    assert seen["evaluated"].metrics == {
        "gold_recall/mean": 1,
        "gold_rank/mean": pytest.approx(2 / 3),
    }
    assert groundset.export(["out/demo"], "mlflow", "sets/demo").questions == 2
    Path("more").mkdir()
    first, _ = two_documents().samples
    changed = [
        first.model_copy(update={"answer": "Now another."}),
        sample("q-3", first.contexts[0], question="New?"),
    ]
    rows = saved(Path("more/run"), changed).to_mlflow("demo").to_df()
    assert len(rows) == 3, "a question has one record"
    records = {
        tags["sample_id"]: (tags, found)
        for tags, found in zip(rows["tags"], rows["expectations"], strict=True)
    }
    assert (
        records["q-1"][0].items() >= {"evolution": "simple", "language": "en", "run": "run"}.items()
    )
    assert records["q-1"][1]["expected_response"] == "Now another."
    assert [each["group"] for each in records["q-2"][1]["expected_retrieved_context"]] == [0, 1]
    with refuses(r"is texts; track_texts sends them to mlflow\.example"):
        seen["run"].to_mlflow("demo", tracking="http://mlflow.example")
    with refuses("is texts; track_texts"):
        groundset.export(["out/demo"], "mlflow", "sets/none", tracking="http://mlflow.example")
    assert not Path("sets/none").exists()


@pytest.mark.parametrize(
    ("outputs", "recall", "rank"),
    [
        (["x", "b-0", "c-0", "a-0"], 1, 1 / 2),
        (
            {
                "answer": "y",
                "found": [{"text": f"before {EVIDENCE} after"}, {"id": "z", "content": "x"}],
            },
            0.5,
            1,
        ),
        ([{"page_content": "The first chunk. And on.", "metadata": {"doc_uri": "z"}}], 0.5, 1),
        (["a.md", "c.md"], 1, 1),
        ([{"content": "something else", "metadata": {"doc_uri": "a.md"}}], 0, 0),
        ([], 0, 0),
    ],
)
def test_chunks_are_known_by_id_text_evidence_or_document(outputs, recall, rank):
    expected = {"expected_retrieved_context": GOLD}
    assert gold_recall(outputs=outputs, expectations=expected) == recall
    assert gold_rank(outputs=outputs, expectations=expected) == rank
    assert gold_recall(outputs=outputs, expectations={"expected_retrieved_context": []}) is None
    with refuses("no retriever span"):
        gold_rank(outputs="text", expectations=expected)
