"""The table of evolutions, and evolutions by syntax."""

from typing import Any

import dspy
import pytest
from scripted_program import (
    GOOD,
    TEXT,
    FixedRetriever,
    ScriptedEngine,
    chunk_of,
    languages_with,
    tools_of,
    trail_of,
)

from groundset.runtime.adapter import PlainTextAdapter
from groundset.runtime.parser import Parser
from programs.analysis import read_chunk
from programs.demos import Demos
from programs.evolutions import EVOLUTIONS
from programs.stages.judge_and_rewrite import JudgeAndRewrite, Judged
from programs.trail import Trail
from programs.types import Attempt, Context, Focus

PLAIN = Focus(
    sentence="The Henn Lady carries 36 cars and was built at the Lodrin yard in 2004.", answer="2004", easy=True
)
BY_SYNTAX = {name: row.by_syntax for name, row in EVOLUTIONS.items() if row.by_syntax is not None}
STRUCK = Focus(sentence=TEXT[TEXT.index("On 22") :], answer="22 February 2009", easy=True)


def seed_of(focus: Focus, question: str, tools: Any) -> tuple[Trail, Judged]:
    attempt = Attempt(number=0, contexts=(read_chunk(chunk_of(), tools.languages),), wanted="simple")
    trail, _ = trail_of(attempt)
    return trail, JudgeAndRewrite(tools)(trail, 0, focus, question)


def evolve(name: str, focus: Focus, question: str, tools: Any, **script: str) -> tuple[str | None, Trail, list[str]]:
    engine = ScriptedEngine(script)
    trail, seed = seed_of(focus, question, tools)
    with dspy.context(lm=engine.lm, adapter=PlainTextAdapter()):
        by_syntax = EVOLUTIONS[name].by_syntax
        assert by_syntax is not None
        evolved = by_syntax(tools).evolve(trail, seed)
        return evolved and evolved.question, trail, engine.steps


def test_evolutions_are_sorted_by_rank_and_have_named_predictors() -> None:
    assert list(EVOLUTIONS)[:4] == ["simple", "reasoning", "conditional", "multi_context"]
    assert list(BY_SYNTAX) == ["simple", "reasoning", "conditional"]
    for name, by_syntax in BY_SYNTAX.items():
        assert EVOLUTIONS[name].name == name
        program: Any = by_syntax(tools_of(retriever=FixedRetriever()))
        assert [step for step, _ in program.named_predictors()] == ([] if name == "simple" else [name])


def test_conditional_adds_the_condition(demos: Demos) -> None:
    written = f"While avoiding a small fishing boat, {GOOD}"
    question, trail, steps = evolve("conditional", STRUCK, GOOD, tools_of(demos=demos), conditional=f"{written} Why?")
    assert question == written
    assert steps == ["conditional"]
    record = trail.records_of(1000)[-1]
    assert (record.step, record.output["condition"]) == ("conditional", "while avoiding a small fishing boat")


@pytest.mark.parametrize(
    ("name", "focus", "question", "reason"),
    [
        ("conditional", PLAIN, "In which year was the Henn Lady built?", "the sentence states no condition"),
        (
            "conditional",
            STRUCK,
            "While avoiding a small fishing boat, what did the Henn Lady strike?",
            "the sentence states no condition",
        ),
        ("reasoning", PLAIN, "In which year was it built?", "nothing in the passage describes what the question names"),
    ],
)
def test_unsuitable_seed_is_refused_without_a_call(
    name: str, focus: Focus, question: str, reason: str, parser: Parser
) -> None:
    evolved, trail, steps = evolve(name, focus, question, tools_of(parse=parser))
    assert (evolved, steps) == (None, [])
    assert [(reject.step, reject.reason) for reject in trail.outcome().rejects] == [(name, reason)]


def test_can_evolve_needs_no_model(parser: Parser) -> None:
    context: Context = read_chunk(chunk_of(), languages_with(parser))
    evolvable = {
        name: [focus for focus in (PLAIN, STRUCK) if by_syntax.can_evolve(focus, context, languages_with(parser))]
        for name, by_syntax in BY_SYNTAX.items()
    }
    assert evolvable == {"simple": [PLAIN, STRUCK], "reasoning": [STRUCK], "conditional": [STRUCK]}
    assert not BY_SYNTAX["reasoning"].can_evolve(STRUCK, context, languages_with(None))
