from pathlib import Path

import pytest
from small_content import content

from groundset.run import Run, save_run
from groundset.sets.transforms.drop import drop_run, list_drops
from groundset.store.reviews import Review
from groundset.store.run_store import RunStore
from programs.errors import InputError
from programs.types import Reject


@pytest.fixture
def run(tmp_path: Path) -> Path:
    save_run(tmp_path / "run", content(), content().lineage("import"))
    return tmp_path / "run"


def test_what_the_condition_holds_for_becomes_a_reject(run: Path, tmp_path: Path) -> None:
    where = 'evolution == "simple" and "ferry" in document'
    lines = drop_run(run, where, tmp_path / "rest")
    assert lines[0] == "Dropped 2 of 4 samples."
    before, after = Run.loaded(run), Run.loaded(tmp_path / "rest")
    assert after.samples == before.samples[2:]
    assert (after.question_vectors == before.question_vectors[2:]).all()
    assert after.chunks == before.chunks
    told = {"step": "drop", "reason": f"dropped: {where}", "probability": 0.75}
    assert after.rejects == [
        *before.rejects,
        Reject(chunk_id="ferry-0001", question="When does the ferry Henn leave Tollvik?", **told),
        Reject(chunk_id="ferry-0002", question="How long does the crossing take?", **told),
    ]
    assert [(review.kind, review.item) for review in after.reviews] == [("sample", "q-4"), ("reject", "1")]


def test_readers_are_heard_as_they_stand(run: Path) -> None:
    assert [sample.id for sample in list_drops(run, 'review == "bad"')[0]] == ["q-4"]
    with RunStore.review(run) as store:
        store.reviews.add(Review(item="q-4", verdict=None))
        store.reviews.add(Review(item="q-2", verdict="good"))
        store.reviews.add(Review(item="q-2", verdict="bad", reader="bob"))
    assert list_drops(run, 'review == "bad"') == ([], 4)
    assert [sample.id for sample in list_drops(run, 'review == "disputed"')[0]] == ["q-2"]


def test_a_question_that_a_reader_answered_is_not_without_an_answer(tmp_path: Path) -> None:
    unanswered = content(samples=[each.model_copy(update={"answer": ""}) for each in content().samples])
    save_run(tmp_path / "open", unanswered, unanswered.lineage("import"))
    with RunStore.review(tmp_path / "open") as store:
        store.reviews.add(Review(item="q-2", verdict="good", answer="forty minutes"))
    assert [sample.id for sample in list_drops(tmp_path / "open", "not answer")[0]] == ["q-1", "q-3", "q-4"]


def test_a_condition_that_holds_for_nothing_leaves_the_set_as_it_is(run: Path, tmp_path: Path) -> None:
    assert drop_run(run, "rank > 40", tmp_path / "rest")[0] == "Dropped 0 of 4 samples."
    assert Run.loaded(tmp_path / "rest").samples == Run.loaded(run).samples


def test_nothing_is_written_where_nothing_would_be_left(run: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"holds for every sample of .* nothing would be left"):
        drop_run(run, "rank == 1", tmp_path / "rest")
    assert not (tmp_path / "rest").exists()
