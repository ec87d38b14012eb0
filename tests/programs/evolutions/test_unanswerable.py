"""Evolution ``unanswerable``."""

from typing import Any

import pytest
from scripted_program import (
    DECIDING,
    TEXT,
    Bad,
    ListRetriever,
    ScriptedCritic,
    ScriptedEngine,
    chunk_of,
    make_attempt,
    nothing_is_bad,
    reasons,
    tools_of,
)

from programs.demos import Demos
from programs.languages import LANGUAGES
from programs.languages.table import Languages
from programs.recipes import RECIPES
from programs.types import Attempt, Context, Focus, Outcome

SEED = "On what date did the Henn Lady strike the Grey Widow?"
OPEN = "Who was the captain of the Henn Lady when she struck the Grey Widow?"
ASKED = f"Kind: fact\nQuestion: {SEED}\nAnswer: 22 February 2009\nEvidence: On 22 February 2009 the Henn Lady struck"
WRITTEN = f"Missing: the name of the captain\nQuestion: {OPEN}"
CAPTAIN = "Captain Tessa Brock of the Henn Lady left the service in 2010."
SOURCE, OTHER = chunk_of(), chunk_of(CAPTAIN, "crew-0004", "crew", "Crew")
NOT_ANSWERED: Bad = lambda name, inputs: name == "answerable" and inputs.get("question") == OPEN  # noqa: E731


def run(
    demos: Demos,
    *,
    bad: Bad = NOT_ANSWERED,
    mix: str = "unanswerable=1",
    others: tuple[str, ...] = (),
    language: str = "en",
    **script: Any,
) -> tuple[Outcome, ScriptedEngine, ScriptedCritic]:
    critic = ScriptedCritic(bad)
    retriever = ListRetriever(OTHER, SOURCE)
    tools = tools_of(demos=demos, critics=dict.fromkeys(DECIDING, critic), mode="free", retriever=retriever)
    foci = (Focus(sentence="", answer="", kind="fact"),)
    context = Context(chunk=SOURCE, passage=TEXT, topic="Henn ferry", language=language, foci=foci)
    engine = ScriptedEngine({"ask": ASKED, "unanswerable": WRITTEN, "answer": "not stated", **script})
    attempt = Attempt(number=0, contexts=(context,), wanted="unanswerable", others=others)
    row = RECIPES["evolved"]
    outcome, _ = make_attempt(row.program(tools, row.options(mix=mix)), attempt, engine)
    return outcome, engine, critic


def test_question_that_no_chunk_answers(demos: Demos) -> None:
    outcome, engine, critic = run(demos)
    (draft,) = outcome.drafts
    assert (draft.question, draft.answer, draft.evolution) == (OPEN, "The documents do not say.", "unanswerable")
    assert (draft.relevant, draft.retrieval.rank, draft.retrieval.score) == ((), None, 0)
    assert draft.contexts == (SOURCE,)
    assert draft.metadata == {
        "answerable": False,
        "missing": "the name of the captain",
        "kind": "fact",
        "seed_question": SEED,
    }
    assert draft.probability == pytest.approx(0.6)  # that of the passage leaving it open
    # The passage and the other hit are read, the latter with its own topic.
    assert engine.steps == ["ask", "unanswerable", "answer", "answer"]
    shown = [request.messages[-1].text for request in engine.requests]
    assert f"Answered question: {SEED}" in shown[1]
    assert "Topic: Henn ferry\n" in shown[2]
    assert "Topic: Crew\n" in shown[3]
    assert CAPTAIN in shown[3]
    assert [record.step for record in draft.trail if record.candidate] == [
        "unanswerable", "judge", "premise", "unanswered",
    ]  # fmt: skip
    assert {"passage": TEXT, "question": OPEN} in critic.asked


@pytest.mark.parametrize(("code", "answer"), [
    ("de", "Dazu steht nichts in den Dokumenten."), ("fr", "Les documents ne le disent pas."),
    ("es", "Los documentos no lo dicen."), ("fi", "The documents do not say."),
])  # fmt: skip
def test_answer_is_in_the_language_of_the_chunk(demos: Demos, code: str, answer: str) -> None:
    outcome, _, _ = run(demos, language=code)
    assert outcome.drafts[0].answer == answer


def test_answers_of_known_languages_differ() -> None:
    answers = {code: Languages(LANGUAGES)[code].unanswered for code in ("en", "de", "fr", "es", "xx")}
    assert len(set(answers.values())) == 4
    assert answers["xx"] == answers["en"]
    assert not Languages(LANGUAGES)["en"].is_stated(answers["en"])


@pytest.mark.parametrize(("text", "reason"), [
    ("Missing: nothing\nQuestion: none", "the passage leaves nothing open"),
    ("I would rather not.", "no question was written"),
    ("", "no question was written"),
    ("Missing: the captain", "no question was written"),
])  # fmt: skip
def test_unusable_completion_is_refused_and_the_seed_offered(demos: Demos, text: str, reason: str) -> None:
    outcome, _, _ = run(demos, unanswerable=text, answer="22 February 2009")
    assert ("unanswerable", reason) in reasons(outcome)
    assert [draft.evolution for draft in outcome.drafts] == ["simple"]


@pytest.mark.parametrize(("failing", "step", "reason"), [
    ("independent", "judge", "not independent"),
    ("clear", "judge", "not clear"),
    ("holds", "premise", "the passage does not bear out its premise"),
])  # fmt: skip
def test_critic_refuses(demos: Demos, failing: str, step: str, reason: str) -> None:
    def bad(name: str, inputs: dict[str, Any]) -> bool:
        return inputs.get("question") == OPEN and name in ("answerable", failing)

    outcome, _, _ = run(demos, bad=bad, answer="22 February 2009")
    assert (step, reason) in reasons(outcome)
    assert [draft.evolution for draft in outcome.drafts] == ["simple"]


def test_passage_must_not_answer(demos: Demos) -> None:
    outcome, _, _ = run(demos, bad=nothing_is_bad)
    assert ("judge", "not unanswerable") in reasons(outcome)
    outcome, _, _ = run(demos, answer="Tessa Brock")
    assert ("unanswered", f"a chunk answers it: {SOURCE.chunk_id}: Tessa Brock") in [
        (reject.step, reject.reason) for reject in outcome.rejects
    ]


def test_other_chunks_must_not_answer(demos: Demos) -> None:
    outcome, _, _ = run(demos, answer=["not stated", "Tessa Brock"])
    (reject,) = (one for one in outcome.rejects if one.step == "unanswered")
    assert reject.reason == "a chunk answers it: crew-0004: Tessa Brock"
    assert reject.question == OPEN

    def bad(name: str, inputs: dict[str, Any]) -> bool:  # the critic finds the answer in the other chunk
        return NOT_ANSWERED(name, inputs) and inputs["passage"] == TEXT

    outcome, _, _ = run(demos, bad=bad)
    assert [one.reason for one in outcome.rejects if one.step == "unanswered"] == ["a chunk answers it: crew-0004"]


def test_failed_evolution_is_replaced_by_another_of_the_mix(demos: Demos) -> None:
    mix = "unanswerable=1,deepen=1"
    outcome, engine, _ = run(demos, mix=mix, others=("deepen",), unanswerable="none", evolve="none")
    assert engine.steps[:3] == ["ask", "unanswerable", "evolve"]
    assert not outcome.drafts  # the model does not find the seed's answer, either
