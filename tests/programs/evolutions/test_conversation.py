"""Evolution ``conversation``."""

from typing import Any

import pytest
from scripted_program import (
    DECIDING,
    TEXT,
    Bad,
    ScriptedCritic,
    ScriptedEngine,
    chunk_of,
    make_attempt,
    reasons,
    tools_of,
)

from programs.demos import Demos
from programs.recipes import RECIPES
from programs.steps.resolve import transcript
from programs.types import Attempt, Context, Focus, Outcome

SEED, DATE = "On what date did the Henn Lady strike the Grey Widow?", "22 February 2009"
FOLLOW_UP = "What was she avoiding?"
FULL = "What was the Henn Lady avoiding when she struck the Grey Widow?"
BOAT = "a small fishing boat"
ASKED = f"Kind: fact\nQuestion: {SEED}\nAnswer: {DATE}\nEvidence: On {DATE} the Henn Lady struck"
MESSAGES = [
    {"role": "user", "content": SEED},
    {"role": "assistant", "content": DATE},
    {"role": "user", "content": FOLLOW_UP},
]


def follow(follow_up: str = FOLLOW_UP, full: str = FULL, answer: str = BOAT, evidence: str = f"avoiding {BOAT}") -> str:
    return f"Follow up: {follow_up}\nStand alone question: {full}\nNew answer: {answer}\nEvidence: {evidence}"


def depends(name: str, inputs: dict[str, Any]) -> bool:
    return name == "independent" and inputs.get("question") == FOLLOW_UP


def run(
    demos: Demos, *, bad: Bad = depends, mix: str = "conversation=1", **script: Any
) -> tuple[Outcome, ScriptedEngine, ScriptedCritic]:
    critic = ScriptedCritic(bad)
    tools = tools_of(demos=demos, critics=dict.fromkeys(DECIDING, critic), mode="free")
    foci = (Focus(sentence="", answer="", kind="fact"),)
    context = Context(chunk=chunk_of(), passage=TEXT, topic="Henn ferry", language="en", foci=foci)
    engine = ScriptedEngine({"ask": ASKED, "follow_up": follow(), "answer": [DATE, BOAT], **script})
    attempt = Attempt(number=0, contexts=(context,), wanted="conversation")
    row = RECIPES["evolved"]
    outcome, _ = make_attempt(row.program(tools, row.options(mix=mix)), attempt, engine)
    return outcome, engine, critic


def test_follow_up_is_checked_in_its_stand_alone_form(demos: Demos) -> None:
    outcome, engine, critic = run(demos)
    draft, fallback = outcome.drafts
    assert (draft.question, draft.answer, draft.evolution) == (FULL, BOAT, "conversation")
    assert draft.metadata["conversation"] == MESSAGES
    assert draft.metadata["seed_question"] == SEED
    assert draft.relevant == ((chunk_of().chunk_id,),)
    assert (fallback.question, fallback.evolution) == (SEED, "simple")
    assert engine.steps == ["ask", "answer", "follow_up", "answer"]
    shown = engine.requests[2].messages[-1].text
    assert f"Question: {SEED}\nAnswer: {DATE}" in shown
    assert {"conversation": transcript(MESSAGES), "question": FULL} in critic.asked
    assert {"passage": TEXT, "question": FOLLOW_UP} in critic.asked
    assert {"first": SEED, "second": FULL} in critic.asked
    assert [record.step for record in draft.trail if record.candidate] == [
        "follow_up", "judge", "same", "conversation", "resolve", "answer", "grounding",
    ]  # fmt: skip


@pytest.mark.parametrize(("text", "reason"), [
    (follow("none", "none", "none", "none"), "the passage tells nothing else"),
    (follow("", FULL), "no follow-up was written"),
    (follow("And now.", FULL), "no follow-up was written"),
    (follow(FOLLOW_UP, ""), "no question with an answer was written"),
    (follow(FOLLOW_UP, FULL, ""), "no question with an answer was written"),
    (follow(evidence="it sank near Ostry"), "its evidence is not in the passage"),
    (follow(FULL, FULL), "the follow-up leaves nothing out that the first turn tells"),
    (follow(FOLLOW_UP, "Which boat was avoided?"), "the follow-up leaves nothing out that the first turn tells"),
    ("", "no question with an answer was written"),
])  # fmt: skip
def test_unusable_completion_is_refused(demos: Demos, text: str, reason: str) -> None:
    outcome, _, _ = run(demos, follow_up=text)
    assert reasons(outcome) == [("follow_up", reason)]
    assert [draft.evolution for draft in outcome.drafts] == ["simple"]


@pytest.mark.parametrize(("failing", "question", "step", "reason"), [
    ("clear", FULL, "judge", "not clear"),
    ("resolved", FULL, "resolve", "the follow-up asks something else"),
    ("grounded", FULL, "grounding", "answer not supported"),
])  # fmt: skip
def test_critic_refuses(demos: Demos, failing: str, question: str, step: str, reason: str) -> None:
    def bad(name: str, inputs: dict[str, Any]) -> bool:
        return depends(name, inputs) or (name == failing and inputs.get("question") == question)

    outcome, _, _ = run(demos, bad=bad)
    assert [(one, said.partition(":")[0]) for one, said in reasons(outcome)] == [(step, reason)]
    assert [draft.evolution for draft in outcome.drafts] == ["simple"]


def test_follow_up_must_not_stand_alone(demos: Demos) -> None:
    outcome, _, _ = run(demos, bad=lambda name, inputs: False)
    assert reasons(outcome) == [("conversation", "the follow-up can be understood without the first turn")]


def test_follow_up_must_ask_something_else(demos: Demos) -> None:
    outcome, _, _ = run(
        demos, bad=lambda name, inputs: depends(name, inputs) or (name == "same" and inputs.get("second") == FULL)
    )
    assert reasons(outcome) == [("same", "the evolution changed nothing")]


def test_model_must_find_the_answer(demos: Demos) -> None:
    outcome, _, _ = run(demos, answer=[DATE, "not stated"])
    assert [step for step, _ in reasons(outcome)] == ["answer"]
    assert [draft.evolution for draft in outcome.drafts] == ["simple"]


def test_first_turn_must_be_answered(demos: Demos) -> None:
    outcome, engine, _ = run(demos, answer="not stated")
    assert not outcome.drafts
    assert "follow_up" not in engine.steps
