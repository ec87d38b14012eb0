"""Labels made from reviews: texts, splits and skipped reviews."""

import json
from pathlib import Path
from typing import Any

import pytest
from read_run import SAMPLES, TEXTS, make_run, sample, say

from groundset.compiling import review_labels
from groundset.compiling.review_labels import labels_from
from groundset.corpus.documents import document_id
from optimizers.labels import ChunkLabel, QuestionLabel, split_of
from programs.errors import InputError

FERRY, MILL = "The ferry leaves Tollvik at nine and comes back at noon.", TEXTS["mill"]


@pytest.fixture(autouse=True)
def shipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Replace the shipped labels; tests may call this with rows."""
    file = tmp_path / "shipped.jsonl"

    def ship(*rows: dict[str, Any]) -> None:
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))

    ship({"id": "c", "document": "d", "split": "dev", "text": "Another text.", "label": "good", "reason": "ok"})
    monkeypatch.setattr(review_labels, "label_files", lambda user_files: [file, *user_files])
    return ship


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make_run(tmp_path / "run")


def reasons_in(*runs: Path) -> list[tuple[str, str]]:
    return [(getattr(label, "question", ""), label.reason) for label in labels_from(runs).labels]


def only_question_label(folder: Path) -> Any:
    [label], left_out = labels_from([folder])
    assert isinstance(label, QuestionLabel)
    assert not left_out
    return label


def test_accepted_sample_becomes_good_label_with_answer(folder: Path) -> None:
    say(folder, "q-ferry", "good")
    label = only_question_label(folder)
    assert (label.question, label.passage, label.good) == (SAMPLES[0].question, FERRY, True)
    assert (label.answer.text, label.answer.label) == ("at nine", "correct")
    assert (label.document, label.topic, label.origin, label.language) == ("ferry", "Ferry", "smollm2-135m", "en")
    assert label.split == split_of("ferry")
    assert label.explanation == "Sample q-ferry of the run run."
    assert label.kind is None


def test_corrected_question_is_good_and_old_wording_bad_if_reason_given(folder: Path) -> None:
    corrected, old = "At what hour does the ferry leave Tollvik?", SAMPLES[0].question
    say(folder, "q-ferry", "good", question=corrected, answer="nine")
    label = only_question_label(folder)
    assert (label.question, label.origin, label.kind, label.answer.text) == (corrected, "written", None, "nine")
    say(folder, "q-ferry", "good", "vague", question=corrected)
    assert reasons_in(folder) == [(corrected, "ok"), (old, "vague")]
    say(folder, "q-ferry", "good", "incomplete", answer="at nine sharp")
    assert reasons_in(folder) == [(old, "ok")]


def test_rejected_answer_leaves_question_good(folder: Path) -> None:
    say(folder, "q-mill", "bad", "unsupported")
    label = only_question_label(folder)
    assert (label.good, label.answer.text, label.answer.label) == (True, "1712", "unsupported")


def test_reviewed_rejects_become_labels_without_answers(folder: Path, shipped: Any) -> None:
    row = {"text": "A text.", "label": "good", "reason": "ok", "split": "train"}
    shipped({**row, "id": "a", "document": "mill"}, {**row, "id": "b", "document": "ferry"})
    say(folder, "1", "bad", "citation")
    say(folder, "2", "bad", "context_reference")
    say(folder, "3", "good")
    say(folder, "3", "good", reader="bob")
    passage, vague, both = labels_from([folder]).labels
    assert isinstance(passage, ChunkLabel)
    assert (passage.text, passage.reason, passage.document) == (TEXTS["list"], "citation", "list")
    assert isinstance(vague, QuestionLabel)
    assert (vague.question, vague.passage, vague.reason) == ("Who built it?", MILL, "context_reference")
    assert isinstance(both, QuestionLabel)
    assert (both.passage, both.good, both.answer) == (f"{MILL}\n\n{FERRY}", True, None)


def test_skipped_reviews_are_counted_by_reason(folder: Path) -> None:
    say(folder, "q-ferry", "good", reader="ann")
    say(folder, "q-ferry", "bad", "vague", reader="bob")
    say(folder, "q-mill", "bad", reader="ann")
    say(folder, "q-mill", "bad", "ok", reader="bob")
    say(folder, "q-mill", "bad", "too_thin", reader="cem")
    say(folder, "q-lost", "good")
    say(folder, "2", "good")
    say(folder, "2", None)
    labels, left_out = labels_from([folder])
    assert labels == []
    assert left_out == {
        review_labels._DISPUTED: 1,
        review_labels._NO_REASON: 2,
        review_labels._GONE: 1,
        review_labels._INVALID: 1,
    }
    say(folder, "q-ferry", "good", reader="bob")
    assert reasons_in(folder) == [(SAMPLES[0].question, "ok")], "the latest review counts"


def test_answer_is_dropped_if_reviewers_disagree_on_it(folder: Path) -> None:
    say(folder, "q-ferry", "good", reader="ann")
    say(folder, "q-ferry", "bad", "incomplete", reader="bob")
    label = only_question_label(folder)
    assert (label.good, label.answer) == (True, None)


def test_duplicates_across_runs_and_shipped_labels_are_removed(folder: Path, tmp_path: Path, shipped: Any) -> None:
    again = make_run(tmp_path / "again")
    for run in (folder, again):
        say(run, "q-ferry", "good")
    assert len(labels_from([folder, again]).labels) == 1
    say(again, "q-ferry", "bad", "vague")
    assert labels_from([folder, again]) == ([], {review_labels._DISPUTED: 1})
    row = {"id": "a", "document": "mill", "split": "test", "passage": MILL, "label": "good", "reason": "ok"}
    shipped({**row, "question": "Who was  Maria Kolb?"}, {**row, "id": "b", "question": "who built it?"})
    say(folder, "q-ferry", None)
    say(folder, "q-mill", "good")
    say(folder, "2", "good")
    [label], left_out = labels_from([folder])
    assert (label.document, label.split) == ("mill", "test")
    assert left_out == {review_labels._KNOWN: 1}


def test_edited_or_moved_document_stays_in_its_split(tmp_path: Path) -> None:
    found = []
    for place, text in (("a/Old mill.md", "A mill."), ("b/old-mill.md", "A mill of Orsle.")):
        first = SAMPLES[0].contexts[0]
        chunk = first.model_copy(update={"doc_id": document_id(place, text), "path": place})
        folder = make_run(tmp_path / place[0], [SAMPLES[0].model_copy(update={"contexts": (chunk,)})])
        say(folder, SAMPLES[0].id, "good")
        [label] = labels_from([folder]).labels
        found.append((label.document, label.split))
    assert found[0] == found[1] == ("old-mill", split_of("old-mill"))


def test_question_about_documents_of_two_splits_is_skipped(tmp_path: Path, shipped: Any) -> None:
    row = {"id": "a", "text": "A text.", "label": "good", "reason": "ok"}
    both = sample("q-both", "Which is older, the mill of Orsle or the ferry of Tollvik?", "the mill", "mill", "ferry")
    folder = make_run(tmp_path / "run", [both])
    say(folder, "q-both", "good")
    for split, found in (("test", 0), ("dev", 1)):
        shipped({**row, "document": "mill", "split": "dev"}, {**row, "id": "b", "document": "ferry", "split": split})
        labels, left_out = labels_from([folder])
        assert (len(labels), left_out) == (found, {} if found else {review_labels._TWO_SPLITS: 1})


def test_run_named_twice_is_rejected(folder: Path) -> None:
    say(folder, "q-ferry", "bad")
    with pytest.raises(InputError, match="named twice"):
        labels_from([folder, folder / "." / ".." / folder.name])


def test_labels_of_run_without_model_have_unknown_origin(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "run", models=None)
    say(folder, "q-ferry", "good")
    assert only_question_label(folder).origin == "unknown"
