from pathlib import Path

import pytest
from loaded_run import loaded_run

from groundset.run import Run, save_run
from groundset.sets.transforms.drop import drop_run, list_drops
from groundset.store.reviews import Review
from groundset.store.run_store import RunStore
from programs.errors import InputError
from programs.types import Reject


@pytest.fixture
def run(tmp_path: Path) -> Path:
    save_run(tmp_path / "run", loaded_run(), loaded_run().lineage("import"))
    return tmp_path / "run"


def test_dropped_samples_become_rejects(run: Path, tmp_path: Path) -> None:
    where = 'evolution == "simple" and "ferry" in document'
    lines = drop_run(run, where, tmp_path / "rest")
    assert lines[0] == "Dropped 2 of 4 samples."
    before, after = Run.loaded(run), Run.loaded(tmp_path / "rest")
    assert after.samples == before.samples[2:]
    assert (after.question_vectors == before.question_vectors[2:]).all()
    assert after.chunks == before.chunks
    common = {"step": "drop", "reason": f"dropped: {where}", "probability": 0.75}
    assert after.rejects == [
        *before.rejects,
        Reject(chunk_id="ferry-0001", question="When does the ferry Henn leave Tollvik?", **common),
        Reject(chunk_id="ferry-0002", question="How long does the crossing take?", **common),
    ]
    assert [(review.kind, review.item) for review in after.reviews] == [("sample", "q-4"), ("reject", "1")]


def test_review_column_is_the_consensus(run: Path) -> None:
    assert [sample.id for sample in list_drops(run, 'review == "bad"')[0]] == ["q-4"]
    with RunStore.review(run) as store:
        store.reviews.add(Review(item="q-4", verdict=None))
        store.reviews.add(Review(item="q-2", verdict="good"))
        store.reviews.add(Review(item="q-2", verdict="bad", reader="bob"))
    assert list_drops(run, 'review == "bad"') == ([], 4)
    assert [sample.id for sample in list_drops(run, 'review == "disputed"')[0]] == ["q-2"]


def test_conditions_see_corrected_answers(tmp_path: Path) -> None:
    unanswered = loaded_run(samples=[each.model_copy(update={"answer": ""}) for each in loaded_run().samples])
    save_run(tmp_path / "open", unanswered, unanswered.lineage("import"))
    with RunStore.review(tmp_path / "open") as store:
        store.reviews.add(Review(item="q-2", verdict="good", answer="forty minutes"))
    assert [sample.id for sample in list_drops(tmp_path / "open", "not answer")[0]] == ["q-1", "q-3", "q-4"]


def test_drop_without_matches_keeps_all_samples(run: Path, tmp_path: Path) -> None:
    assert drop_run(run, "rank > 40", tmp_path / "rest")[0] == "Dropped 0 of 4 samples."
    assert Run.loaded(tmp_path / "rest").samples == Run.loaded(run).samples


def test_empty_results_are_rejected(run: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"--where rank == 1: .* all 4 samples"):
        drop_run(run, "rank == 1", tmp_path / "rest")
    assert not (tmp_path / "rest").exists()
