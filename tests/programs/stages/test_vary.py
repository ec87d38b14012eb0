"""The step and stage ``vary``: other wordings of an answer."""

from typing import Any

import dspy
import pytest
from scripted_program import GOOD, TEXT, ScriptedCritic, ScriptedEngine, chunk_of, languages_with, tools_of, trail_of

from groundset.runtime.adapter import PlainTextAdapter
from programs.analysis import read_chunk
from programs.demos import Demos
from programs.languages import LANGUAGES
from programs.recipes import RECIPES
from programs.stages.answer import Answer
from programs.stages.finish import Finish
from programs.stages.judge_and_rewrite import JudgeAndRewrite
from programs.stages.vary import Vary
from programs.steps.vary import wording_problem, wordings_of
from programs.trail import Trail
from programs.types import Attempt, Focus

CONTEXT = read_chunk(chunk_of(), languages_with(None))
ANSWER = "22 February 2009"
SENTENCE = "The Henn Lady struck the Grey Widow on 22 February 2009."


def vary(demos: Demos, written: str, *, count: int = 3, **tools: Any) -> tuple[list[str], Trail, ScriptedEngine]:
    engine, made = ScriptedEngine({"vary": written}), tools_of(demos=demos, **tools)
    trail, _ = trail_of(Attempt(number=0, contexts=(CONTEXT,), wanted="simple"))
    judged = JudgeAndRewrite(made)(trail, 0, Focus(sentence=TEXT, answer=ANSWER), GOOD)
    with dspy.context(lm=engine.lm, adapter=PlainTextAdapter()):
        return Vary(made, count)(trail, judged, ANSWER), trail, engine


def records(trail: Trail) -> list[tuple[str, str | None]]:
    return [(each.output["wording"], each.reason) for each in trail.records_of(0) if each.step == "vary"]


def test_wordings_that_pass_all_checks_are_kept(demos: Demos) -> None:
    kept, trail, engine = vary(demos, f"1. {SENTENCE}\n- “on 22 February 2009”\n\n")
    assert kept == [SENTENCE, "on 22 February 2009"]
    assert records(trail) == [(wording, None) for wording in kept]
    assert engine.steps == ["vary"]
    assert str(engine.requests[0].messages[-1].parts[0].text) == f"Question: {GOOD}\nAnswer: {ANSWER}\nCount: 3"


def test_no_more_wordings_than_requested_are_kept(demos: Demos) -> None:
    assert vary(demos, f"{SENTENCE}\non 22 February 2009", count=1)[0] == [SENTENCE]


@pytest.mark.parametrize("written", ["", "\n", "?", "not stated", ANSWER, f"{ANSWER}."])
def test_rubbish_gives_no_wording(demos: Demos, written: str) -> None:
    assert vary(demos, written)[0] == []


def test_critics_refuse_wordings_with_a_reason(demos: Demos) -> None:
    differs = ScriptedCritic(lambda name, inputs: name == "agree", reason="another event")
    critics = {"judge": ScriptedCritic(), "agree": differs, "grounding": ScriptedCritic()}
    kept, trail, _ = vary(demos, SENTENCE, critics=critics)
    assert (kept, records(trail)) == ([], [(SENTENCE, "not the same answer: another event")])
    assert differs.asked[-1] == {"question": GOOD, "first": ANSWER, "second": SENTENCE}
    unsupported = ScriptedCritic(lambda name, inputs: name == "grounded")
    critics |= {"agree": ScriptedCritic(), "grounding": unsupported}
    kept, trail, _ = vary(demos, SENTENCE, critics=critics)
    assert (kept, records(trail)) == ([], [(SENTENCE, "not supported by the passage")])
    assert unsupported.asked[-1] == {"passage": TEXT, "question": GOOD, "answer": SENTENCE}
    assert trail.outcome().rejects == (), "the sample itself is kept"


def test_wordings_are_cleaned_and_distinct() -> None:
    text = '1) on Monday\n* On Monday\n"Wording: x"\nWording: by Monday\n\n  \nlater'
    assert wordings_of(text, 4) == ["on Monday", "Wording: x", "by Monday", "later"]
    assert wordings_of(text, 1) == ["on Monday"]
    assert wordings_of("a\nb\nA", 2) == ["a", "b"]


@pytest.mark.parametrize(
    ("wording", "answer", "problem"),
    [
        ("three cars", "3 cars", None),
        ("four cars", "3 cars", "has other numbers"),
        ("3 cars since 2004", "3 cars", "has other numbers"),
        ("In 2009 it carried 3 cars.", "3 cars", None),
        ("the yard at Lodrin", "the Lodrin yard", None),
        ("the yard", "the Lodrin yard", "has other names"),
        ("the Lodrin yard in Sandgate", "the Lodrin yard", "has other names"),
        ("a yard of the Henn Lady at Lodrin", "the Lodrin yard", None),
        ("shipyard", "Lodrin", "has other names"),
        ("Because of fog", "because of fog", "repeats the answer"),
        ("Fog was the cause.", "because of fog", None),
        ("The passage does not say.", "because of fog", "says that there is no answer"),
    ],
)
def test_rules_keep_names_and_numbers(wording: str, answer: str, problem: str | None) -> None:
    question = "How many cars did the Henn Lady carry in 2009?"
    assert wording_problem(wording, question, answer, TEXT, LANGUAGES["en"]) == problem


def test_variants_are_metadata_of_the_draft(demos: Demos) -> None:
    engine = ScriptedEngine({"vary": SENTENCE, "answer": ANSWER})
    tools = tools_of(demos=demos)
    trail, _ = trail_of(Attempt(number=0, contexts=(CONTEXT,), wanted="simple"))
    judging = JudgeAndRewrite(tools)
    judged = judging(trail, 0, Focus(sentence=TEXT, answer=ANSWER), GOOD)
    with dspy.context(lm=engine.lm, adapter=PlainTextAdapter()):
        varied = Finish(tools, judging, Answer(tools), 5, 2)(trail, judged, "simple")
        plain = Finish(tools, judging, Answer(tools), 5)(trail, judged, "simple")
    assert varied is not None
    assert plain is not None
    assert (varied.answer, varied.metadata["answer_variants"]) == (ANSWER, [SENTENCE])
    assert "answer_variants" not in plain.metadata
    assert engine.steps == ["answer", "vary", "answer"]


def test_recipes_that_check_answers_have_the_option() -> None:
    owners = [name for name, row in RECIPES.items() if "answer_variants" in row.options.model_fields]
    assert owners == ["evolved", "multi", "profiled", "single"]
