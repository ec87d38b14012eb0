"""Evaluation datasets of MLflow, and a scorer that reads them."""

from collections.abc import Iterator
from pathlib import Path

import mlflow
import pytest
from evaluation_sets import sample, saved, two_documents
from refusal import refuses

import groundset

PAGE = Path(__file__).parents[3] / "docs" / "reviewing.md"


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
    assert seen["evaluated"].metrics == {"gold_recall/mean": 1}
    assert groundset.export(["out/demo"], "mlflow", "sets/demo").questions == 2
    Path("more").mkdir()
    first, _ = two_documents().samples
    changed = [
        first.model_copy(update={"answer": "Now another."}),
        sample("q-3", first.contexts[0], question="New?"),
    ]
    saved(Path("more/run"), changed).export("mlflow", "more/demo")
    rows = mlflow.genai.datasets.get_dataset(name="demo").to_df()
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
        groundset.export(["out/demo"], "mlflow", "sets/none", tracking="http://mlflow.example")
    assert not Path("sets/none").exists()
