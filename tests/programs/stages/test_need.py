"""The stage ``need``."""

from collections.abc import Sequence
from typing import Any

import pytest
from scripted_program import BROCK, FOUNDED, ScriptedCritic, context_of, tools_of, trail_of

from programs.stages.judge_and_rewrite import JudgeAndRewrite
from programs.stages.need import Need
from programs.trail import Trail
from programs.types import Attempt

YARD, PERSON = context_of("yard", FOUNDED), context_of("brock", BROCK)
QUESTION = "In which year did the shipwright who grew up in Sandgate found the Lodrin yard?"


def need(*missed: Any, question: str = QUESTION, low: float = 0.4, names: Sequence[str] = ()) -> tuple[bool, Trail]:
    """Return whether a question needs both chunks, and the trail; it is unanswerable without the chunks ``missed``."""

    def bad(name: str, inputs: dict[str, Any]) -> bool:
        return name == "answerable" and any(context.passage not in inputs["passage"] for context in missed)

    tools = tools_of(critics={"judge": ScriptedCritic(bad, low)})
    judging = JudgeAndRewrite(tools)
    trail, _ = trail_of(Attempt(number=0, contexts=(YARD, PERSON), wanted="multi_context"))
    return Need(tools, judging)(trail, judging(trail, 0, YARD.foci[0], question), names), trail


def test_question_that_needs_every_chunk_passes() -> None:
    needed, trail = need(YARD, PERSON)
    assert needed
    assert not trail.outcome().rejects
    record = trail.records_of(0)[-1]
    assert (record.step, record.verdict) == ("needed", "good")
    assert {name: values["fall"] for name, values in record.output.items()} == {"yard": 0.5, "brock": 0.5}
    assert "lodrin" in record.output["yard"]["own words"]
    assert "sandgat" in record.output["brock"]["own words"]


@pytest.mark.parametrize(
    ("missed", "low", "reason"),
    [
        ([YARD], 0.4, "1 of 2 chunks is not needed"),  # as answerable without the other one
        ([], 0.4, "2 of 2 chunks are not needed"),
        ([YARD, PERSON], 0.87, "2 of 2 chunks are not needed"),  # too small a drop
    ],
)
def test_chunk_must_raise_the_probability(missed: Any, low: float, reason: str) -> None:
    needed, trail = need(*missed, low=low)
    assert not needed
    assert [(reject.step, reject.reason) for reject in trail.outcome().rejects] == [("needed", reason)]
    assert trail.records_of(0)[-1].reason == reason


def test_chunk_must_contribute_words() -> None:
    needed, trail = need(YARD, PERSON, question="In which year was the Lodrin yard founded by Anna Brock?")
    assert not needed
    assert trail.records_of(0)[-1].output["brock"] == {"fall": 0.5, "own words": []}
    assert [reject.chunk_id for reject in trail.outcome().rejects] == ["brock"]


def test_described_name_in_the_question_is_refused() -> None:
    question = "In which year did Anna Brock of Sandgate found the Lodrin yard?"
    needed, trail = need(YARD, PERSON, question=question, names=["Anna Brock"])
    assert not needed
    assert [reject.reason for reject in trail.outcome().rejects] == ["it names Anna Brock, which a chunk describes"]
    assert need(YARD, PERSON, names=["Anna Brock"])[0]
    assert need(YARD, PERSON, question=question)[0]  # comparisons may contain names
