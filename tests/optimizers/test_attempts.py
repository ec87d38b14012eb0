"""Attempts on labelled chunks as examples."""

from typing import Any

import pytest
from scripted_program import TEXT, languages_with

from optimizers.attempts import attempt_examples
from optimizers.labels import ChunkLabel
from programs.types import Hit


def label(name: str, text: str = TEXT, split: str = "train", *, good: bool = True) -> ChunkLabel:
    verdict = {"label": "good", "reason": "ok"} if good else {"label": "bad", "reason": "citation"}
    fields: dict[str, Any] = {"id": name, "document": f"doc-{name}", "topic": f"Ship {name} > Loss", "text": text}
    return ChunkLabel(**fields, split=split, **verdict)


def nothing_near(chunk_id: str, limit: int) -> list[Hit]:
    return []


def test_good_chunks_become_attempts_by_split():
    labels = [label("a"), label("b", split="dev"), label("c", split="test"), label("d", good=False)]
    found = attempt_examples("single", labels, languages_with(None), nothing_near)
    assert {split: [row.id for row in rows] for split, rows in found.items()} == {
        "train": ["a/simple"],
        "dev": ["b/simple"],
        "test": ["c/simple"],
    }
    (row,) = found["train"]
    assert row.inputs().keys() == ["attempt"]
    (context,) = row.attempt.contexts
    assert context.foci
    assert context.score.verdict == "good"
    assert (row.topic, row.passage, row.document) == ("Ship a > Loss", context.passage, "doc-a")


def test_one_attempt_for_each_possible_evolution():
    found = attempt_examples("evolved", [label("a")], languages_with(None), nothing_near, mix="simple=1,conditional=1")
    assert {row.wanted for row in found["train"]} == {"simple", "conditional"}


@pytest.mark.parametrize(("split", "count"), [("train", 1), ("dev", 0)])
def test_attempts_do_not_mix_splits(split, count):
    founded = "The yard of {} was founded by the shipwright Tom Hale in {}."
    labels = [label("a", founded.format("Lodrin", 1911)), label("b", founded.format("Sandgate", 1874), split)]

    def near(chunk_id: str, limit: int) -> list[Hit]:
        return [Hit(chunk_id=each.id, text=each.text, similarity=0.9) for each in labels if each.id != chunk_id]

    found = attempt_examples("multi", labels, languages_with(None), near)
    assert len(found["train"]) == count
    assert found["dev"] == []


def test_order_depends_on_seed():
    labels = [label(f"c{number}") for number in range(12)]
    orders = [
        [row.id for row in attempt_examples("single", labels, languages_with(None), nothing_near, seed=seed)["train"]]
        for seed in (0, 0, 1)
    ]
    assert orders[0] == orders[1]
    assert sorted(orders[0]) == sorted(orders[2])
    assert orders[0] != orders[2]
