"""The agenda of groups of near chunks."""

from typing import Any

import pytest
from scripted_program import context_of, material_of

from programs.recipes.base import Past
from programs.recipes.by_group import ByGroup
from programs.types import Context, StepRecord

KIND = "together"
BAD = StepRecord(step="chunk", verdict="bad", reason="not content")
NEAR = {
    "a": {"b": 0.9, "c": 0.7, "d": 0.4},
    "b": {"a": 0.9, "c": 0.8},
    "c": {"b": 0.8, "a": 0.7},
    "d": {"a": 0.4},
}


def chunks(**changes: dict[str, Any]) -> list[Context]:
    contexts = [context_of(name, (f"They all read the Star in {name}.", "Star"), doc_id=f"doc-{name}") for name in NEAR]
    return [context.model_copy(update=changes.get(context.chunk.chunk_id, {})) for context in contexts]


def agenda(
    contexts: list[Context] | None = None, are_compatible: Any = lambda contexts: True, **options: Any
) -> ByGroup:
    arguments = {"seeds": 9, "chunks": (2, 3), "near": 9, "similarity": 0.5, "across_documents": False, **options}
    return ByGroup(material_of(contexts or chunks(), NEAR), (KIND, "terse"), are_compatible, **arguments)


@pytest.mark.parametrize(
    ("options", "keys"),
    [
        ({}, ["a+b+c"]),  # the same three are near b and c
        ({"chunks": (2, 2)}, ["a+b", "c+b"]),
        ({"chunks": (4, 5)}, []),
        ({"chunks": (4, 5), "similarity": 0.4}, ["a+b+c+d"]),
        ({"similarity": 0.3}, ["a+b+c", "d+a"]),
        ({"similarity": 0.85}, ["a+b"]),
        ({"near": 1}, ["a+b", "c+b"]),
        ({"chunks": (2, 2), "seeds": 2}, ["a+b"]),
        ({"seeds": 0}, []),
        ({"are_compatible": lambda contexts: "b" not in [each.chunk.chunk_id for each in contexts]}, ["a+c"]),
    ],
)
def test_groups_of_near_chunks_are_unique(options, keys):
    found = agenda(**options)
    assert list(found.keys) == keys
    assert found.counts["contexts found"] == len(keys)


def test_refused_chunks_are_in_no_group():
    good = StepRecord(step="chunk", verdict="good")
    found = agenda(chunks(b={"score": BAD}, c={"score": good}))
    assert found.keys == ("a+c",)
    assert found.counts == {"chunks": 4, "usable": 3, "seeds": 3, "contexts found": 1}


def test_across_documents_uses_one_chunk_per_document():
    twin = chunks()[1].chunk.model_copy(update={"doc_id": "doc-c"})
    contexts = chunks(b={"chunk": twin})
    assert agenda(contexts).keys == ("a+b+c",)
    assert agenda(contexts, across_documents=True).keys == ("a+b", "c+a")


def test_contexts_have_rare_names_and_are_offered_once():
    found = agenda()
    contexts, reworded = found.offers("a+b+c", 0, ()).values()
    assert contexts == reworded
    assert [each.names for each in contexts] == [("Star",)] * 3
    assert set(found.offers("a+b+c", 0, ())) == {KIND, "terse"}
    assert found.offers("a+b+c", 0, [Past(KIND, (), None, exhausted=True)]) == {}
    assert found.rounds == 1
