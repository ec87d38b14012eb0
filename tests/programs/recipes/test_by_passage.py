"""The agenda of modes that write freely."""

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from scripted_program import material_of

from programs.recipes.base import Past
from programs.recipes.by_passage import ByPassage
from programs.types import Chunk, Context, StepRecord

TABLE = "| pump | lift |\n|---|---|\n| Orrin 3 | 12 m |\n| Orrin 5 | 19 m |"
CODE = "Start it:\n\n```sh\ntide work jobs.db\n```"
FORMULA = "The lift follows from $h = p / (g \\rho)$ as long as the hose is filled."


def context_of(
    name: str, text: str = "The mill was built in 1822.", start: int = 0, doc: str = "mill", **more: Any
) -> Context:
    chunk = Chunk(chunk_id=name, doc_id=doc, path="m.md", title="Mill", start=start, end=start + len(text), text=text)
    return Context(chunk=chunk, passage=text, topic="Mill", language="en", **more)


def agenda_of(
    *contexts: Context, evolutions: tuple[str, ...] = ("simple",), near: Any = None, **options: Any
) -> ByPassage:
    options = {"weights": {}, "candidates": 2, **options}
    return ByPassage(material_of(contexts, near, mode="free"), evolutions, **options)


def test_kinds_are_distributed_by_weight_and_differ_in_an_attempt() -> None:
    contexts = [context_of(f"c{number}") for number in range(40)]
    weights = {"fact": 3.0, "why": 1.0} | dict.fromkeys(
        ("definition", "how", "comparison", "list", "consequence", "purpose", "condition"), 0.0
    )
    agenda = agenda_of(*contexts, weights=weights)
    offered = [agenda.offers(key, 0, ())["simple"][0].foci for key in agenda.keys]
    assert Counter(foci[0].kind for foci in offered) == {"fact": 30, "why": 10}
    assert all({focus.kind for focus in foci} == {"fact", "why"} for foci in offered)
    assert all(focus.sentence == "" for foci in offered for focus in foci)


def test_before_is_the_end_of_the_preceding_chunk() -> None:
    long = "Old words. " * 60
    agenda = agenda_of(context_of("b", start=900), context_of("a", long), context_of("c", doc="other"))
    before = {key: agenda.offers(key, 0, ())["simple"][0].before for key in agenda.keys}
    assert before["a"] == before["c"] == ""
    assert before["b"].startswith("… ")
    assert long.rstrip().endswith(before["b"][2:].rstrip())
    assert len(before["b"]) <= 302


@pytest.mark.parametrize(("evolution", "text"), [("table", TABLE), ("code", CODE), ("formula", FORMULA)])
def test_table_code_and_formula_need_a_matching_passage(evolution: str, text: str) -> None:
    agenda = agenda_of(context_of("plain"), context_of("held", text), evolutions=("simple", evolution))
    assert set(agenda.offers("plain", 0, ())) == {"simple"}
    assert set(agenda.offers("held", 0, ())) == {"simple", evolution}
    assert agenda.counts[f"can be asked {evolution}"] == 1


def test_partners_change_with_the_round() -> None:
    near = {"a": {"b": 0.6, "c": 0.5, "far": 0.1, "refused": 0.9}}
    refused = context_of("refused", score=StepRecord(step="chunk", verdict="bad"))
    contexts = (context_of("a"), context_of("b"), context_of("c"), context_of("far"), refused)
    agenda = agenda_of(*contexts, evolutions=("simple", "multi_context"), near=near)
    offered = [agenda.offers("a", round_, ()).get("multi_context", ()) for round_ in range(3)]
    assert [[context.chunk.chunk_id for context in contexts] for contexts in offered] == [["a", "b"], ["a", "c"], []]
    assert "refused" not in agenda.keys


def test_shared_rare_name_ranks_a_partner_higher() -> None:
    near = {"a": {"b": 0.55, "c": 0.5}}
    text = "At Ebbing the engineer Maria Kolb led the work."
    contexts = (context_of("a", text), context_of("b"), context_of("c", f"Later {text}"))
    agenda = agenda_of(*contexts, evolutions=("multi_context",), near=near)
    assert [each.chunk.chunk_id for each in agenda.offers("a", 0, ())["multi_context"]] == ["a", "c"]


def test_exhausted_and_once_passages_are_not_offered() -> None:
    accepted = Past("simple", (), "simple", exhausted=False)
    assert agenda_of(context_of("a")).offers("a", 1, [accepted])
    assert agenda_of(context_of("a"), once=True).offers("a", 1, [accepted]) == {}
    assert agenda_of(context_of("a")).offers("a", 1, [accepted._replace(exhausted=True)]) == {}


def test_first_passages_of_a_large_corpus_need_no_other_chunk() -> None:
    class Prepared(list[Context]):
        """Contexts of which only the first are ready."""

        ready = 32

        def __getitem__(self, index: Any) -> Any:
            assert index < self.ready, "a chunk that is not ready is needed"
            return super().__getitem__(index)

    contexts = Prepared(context_of(f"c{number}", start=30 * number) for number in range(256))
    near = {f"c{number}": {f"c{number + 1}": 0.6, f"c{number + 2}": 0.5} for number in range(250)}
    chunks = [context.chunk for context in list(contexts)]
    material = replace(material_of(contexts, near, mode="free"), chunks=chunks)
    agenda = ByPassage(material, ("simple", "multi_context"), weights={}, candidates=2)
    offered = [agenda.offers(agenda.keys[index], 0, ()) for index in range(32)]
    assert [list(each) for each in offered] == [["simple"]] * 32
    assert offered[1]["simple"][0].before.startswith("The mill")
    contexts.ready = 256
    for index, round_ in ((32, 0), (0, 1)):
        assert list(agenda.offers(agenda.keys[index], round_, ())) == ["simple", "multi_context"]
