"""Mode ``free``."""

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
    material_of,
    nothing_is_bad,
    reasons,
    tools_of,
)

from programs.demos import Demos
from programs.recipes import RECIPES
from programs.types import Attempt, Context, Focus, Outcome

DATE = "On what date did the Henn Lady strike the Grey Widow?"
WHY = "Why did the Henn Lady strike the Grey Widow in 2009?"
CARS = "How many cars does the Henn Lady carry?"


def written(question: str, answer: str, evidence: str = TEXT[TEXT.index("On 22") :], kind: str = "fact") -> str:
    return f"Kind: {kind}\nQuestion: {question}\nAnswer: {answer}\nEvidence: {evidence}"


DATED = written(DATE, "22 February 2009")
CAUSED = written(WHY, "it was avoiding a small fishing boat", kind="why")
CARRIED = written(CARS, "36", "carries 36 cars")


def kinds(*names: str) -> tuple[Focus, ...]:
    return tuple(Focus(sentence="", answer="", kind=name) for name in names)


def context_with(*names: str) -> Context:
    chunk = chunk_of()
    return Context(
        chunk=chunk, passage=TEXT, topic="Henn ferry", language="en", foci=kinds(*names), before="The strait is narrow."
    )


def run(
    script: dict[str, Any],
    wanted: str = "simple",
    *,
    demos: Demos,
    used_foci: tuple[Focus, ...] = (),
    bad: Bad = nothing_is_bad,
    recipe: str = "evolved",
    contexts: tuple[Context, ...] = (),
    llm: bool = False,
    others: tuple[str, ...] = (),
    **options: Any,
) -> tuple[Outcome, ScriptedEngine, ScriptedCritic]:
    critic = ScriptedCritic(bad)
    vars(critic)["is_llm_judge"] = llm
    tools = tools_of(demos=demos, critics=dict.fromkeys(DECIDING, critic), mode="free")
    row = RECIPES[recipe]
    engine = ScriptedEngine({"open_answer": "It was avoiding a small fishing boat.", **script})
    contexts = contexts or (context_with("fact", "why"),)
    attempt = Attempt(number=0, contexts=contexts, wanted=wanted, others=others, used_foci=used_foci)
    outcome, _ = make_attempt(row.program(tools, row.options(**options)), attempt, engine)
    return outcome, engine, critic


def test_prompt_has_topic_before_passage_kinds_and_earlier_questions(demos: Demos) -> None:
    before = Focus(sentence="carries 36 cars", answer="36", wording=CARS)
    outcome, engine, _ = run({"ask": DATED}, demos=demos, used_foci=(before,))
    prompt = engine.requests[0].messages[-1].text
    for line in ("Topic: Henn ferry", "Before: The strait is narrow.", f"Passage: {TEXT}", "Kinds: fact; why"):
        assert line in prompt
    assert f"Asked already: {CARS}" in prompt
    (draft,) = outcome.drafts
    assert (draft.question, draft.answer) == (DATE, "22 February 2009")
    assert draft.metadata["kind"] == "fact"
    assert draft.metadata["focus"] in TEXT
    assert [focus.wording for focus in outcome.used_foci] == [DATE]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (written(DATE, "22 February 2009", "it sank in the deep sea near Ostry"), "its evidence is not in the passage"),
        (written("Did the Henn Lady strike the Grey Widow rock?", "the Grey Widow"), "it gives its answer away"),
        (written("", "x"), "no question with an answer was written"),
        (written(DATE, ""), "no question with an answer was written"),
        ("I would rather not.", "no question can be read from what was written"),
        ("", "no question can be read from what was written"),
    ],
)
def test_invalid_completion_counts_as_one_candidate(demos: Demos, text: str, reason: str) -> None:
    outcome, _, _ = run({"ask": text}, demos=demos)
    assert not outcome.drafts
    assert reasons(outcome) == [("ask", reason)]
    outcome, _, _ = run({"ask": f"{text}\n\n{CARRIED}", "answer": "36 cars"}, demos=demos)
    assert [draft.question for draft in outcome.drafts] == [CARS]


def test_question_with_alternatives_may_contain_its_answer(demos: Demos) -> None:
    question = "Did the Henn Lady strike the Grey Widow rock or the pier?"
    outcome, _, _ = run({"ask": written(question, "the Grey Widow rock"), "answer": "the Grey Widow rock"}, demos=demos)
    assert [draft.question for draft in outcome.drafts] == [question]


def test_second_question_is_judged_only_if_the_first_fails(demos: Demos) -> None:
    _, _, critic = run({"ask": f"{DATED}\n\n{CAUSED}"}, demos=demos)
    assert WHY not in [inputs.get("question") for inputs in critic.asked]
    outcome, _, critic = run({"ask": f"{DATED}\n\n{CAUSED}", "answer": "not stated"}, demos=demos)
    assert WHY in [inputs.get("question") for inputs in critic.asked]
    assert ("answer", "not found in the passage") in reasons(outcome)


def test_best_refused_question_is_rewritten(demos: Demos) -> None:
    def bad(name: str, inputs: dict[str, Any]) -> bool:
        return name == "clear" and inputs.get("question") != DATE

    script = {"ask": written("When did it happen to her?", "22 February 2009"), "feedback": "Name it.", "rewrite": DATE}
    outcome, engine, _ = run(script, demos=demos, bad=bad)
    assert [draft.question for draft in outcome.drafts] == [DATE]
    assert engine.steps == ["ask", "feedback", "rewrite", "answer"]


def test_answer_must_agree_with_reading(demos: Demos) -> None:
    outcome, _, _ = run({"ask": DATED, "answer": "on 22 February 2009"}, demos=demos)
    assert outcome.drafts[0].answer == "22 February 2009"
    differs = lambda name, inputs: name == "agree"  # noqa: E731
    outcome, _, _ = run({"ask": DATED, "answer": "in 2004"}, demos=demos, bad=differs)
    assert reasons(outcome)[0] == ("answer", "another answer than expected")


@pytest.mark.parametrize(
    ("llm", "found", "compared"),
    [
        (False, "on 22 February 2009, at night", False),
        (True, "on 22 February 2009, at night", True),
        (True, "22 February, 2009", False),
    ],
)
def test_llm_judge_compares_all_but_identical_answers(demos: Demos, *, llm: bool, found: str, compared: bool) -> None:
    outcome, _, critic = run({"ask": DATED, "answer": found}, demos=demos, llm=llm)
    assert ("second" in critic.asked[-2]) is compared
    assert outcome.drafts[0].answer == "22 February 2009"


def test_every_sentence_of_an_open_answer_is_grounded(demos: Demos) -> None:
    answer = "The Henn Lady struck it on 22 February 2009. It sank at once."
    script = {"ask": written(DATE, answer), "answer": answer, "open_answer": answer}
    unsupported = lambda name, inputs: name == "grounded" and inputs["answer"] == "It sank at once."  # noqa: E731
    outcome, engine, _ = run(script, demos=demos, bad=unsupported, answers="open")
    assert reasons(outcome) == [("grounding", "answer not supported")]
    assert "Answers: one to three whole sentences" in engine.requests[0].messages[-1].text


def evolved(question: str, answer: str = "it was avoiding a small fishing boat") -> str:
    return f"New question: {question}\nNew answer: {answer}\nEvidence: {TEXT[TEXT.index('On 22') :]}"


def test_evolved_question_has_its_own_answer(demos: Demos) -> None:
    script = {"ask": DATED, "evolve": evolved(WHY), "answer": "it was avoiding a small fishing boat"}
    outcome, engine, _ = run(script, "reasoning", demos=demos)
    (draft,) = outcome.drafts
    assert (draft.question, draft.evolution) == (WHY, "reasoning")
    assert draft.metadata["seed_question"] == DATE
    assert engine.steps == ["ask", "evolve", "answer"]  # the seed itself is not answered


def test_failed_evolution_falls_back_to_another_then_simple(demos: Demos) -> None:
    mix = {"simple": 1, "reasoning": 1, "conditional": 1}
    script = {"ask": DATED, "evolve": ["New question: none", evolved(WHY)], "answer": "it was avoiding a fishing boat"}
    others = ("simple", "conditional")
    outcome, engine, _ = run(script, "reasoning", demos=demos, mix=mix, others=others)
    assert [draft.evolution for draft in outcome.drafts] == ["conditional"]
    outcome, engine, _ = run(
        {"ask": DATED, "evolve": "New question: none"}, "reasoning", demos=demos, mix=mix, others=others
    )
    assert [draft.evolution for draft in outcome.drafts] == ["simple"]
    assert engine.steps == ["ask", "evolve", "evolve", "answer"]
    assert reasons(outcome) == [(name, "the passage does not allow it") for name in ("reasoning", "conditional")]
    _, engine, _ = run({"ask": DATED, "evolve": "New question: none"}, "reasoning", demos=demos, mix=mix)
    assert engine.steps == ["ask", "evolve", "answer"], "no other evolution is missing"


def test_too_long_evolution_is_refused(demos: Demos) -> None:
    long = f"{WHY[:-1]}, as far as {' and '.join(['anybody'] * 14)} can tell from the log of the ship?"
    script = {"ask": DATED, "evolve": evolved(long), "compress": long, "answer": "it was avoiding a small fishing boat"}
    outcome, _, _ = run(script, "constrain", demos=demos, mix={"simple": 1, "constrain": 1})
    assert [draft.evolution for draft in outcome.drafts] == ["simple"]
    assert any("words, at most 25" in reject.reason for reject in outcome.rejects)


def test_simplify_may_keep_the_meaning(demos: Demos) -> None:
    script = {"ask": DATED, "evolve": evolved("When did the Henn Lady hit the Grey Widow?", "22 February 2009")}
    same = lambda name, inputs: name == "same"  # noqa: E731
    outcome, _, _ = run(script, "simplify", demos=demos, mix={"simple": 1, "simplify": 1}, bad=same)
    assert [draft.evolution for draft in outcome.drafts] == ["simplify"]
    outcome, _, _ = run(script, "constrain", demos=demos, mix={"simple": 1, "constrain": 1}, bad=same)
    assert [draft.evolution for draft in outcome.drafts] == ["simple"]


YARD = "The Lodrin yard was founded by the shipwright Anna Brock in 1911."
BUILDER = "Who founded the yard at which the Henn Lady was built?"


def two() -> tuple[Context, Context]:
    other = Context(
        chunk=chunk_of(YARD, "yard-0001", "yard", "Lodrin yard"), passage=YARD, topic="Lodrin", language="en"
    )
    return context_with(), other


def test_combine_needs_every_passage(demos: Demos) -> None:
    text = written(
        BUILDER, "Anna Brock", "was built at the Lodrin yard | founded by the shipwright Anna Brock", "bridge"
    )
    script: dict[str, Any] = {"combine": text, "answer": ["not stated", "not stated", "Anna Brock"]}
    outcome, engine, _ = run(script, "multi_context", demos=demos, contexts=two())
    (draft,) = outcome.drafts
    assert (draft.question, draft.evolution) == (BUILDER, "multi_context")
    assert draft.relevant == (("ferry-0001",), ("yard-0001",))
    prompt = engine.requests[0].messages[-1].text
    assert f"[1] Henn ferry\n{TEXT}" in prompt
    assert f"[2] Lodrin\n{YARD}" in prompt

    script["answer"] = ["not stated", "Anna Brock", "Anna Brock"]
    outcome, _, _ = run(script, "multi_context", demos=demos, contexts=two())
    assert not outcome.drafts
    assert reasons(outcome) == [("needed", "1 of 2 chunks is not needed")]


@pytest.mark.parametrize("supported", [True, False])
def test_answer_is_mended_when_a_passage_is_left_out(demos: Demos, *, supported: bool) -> None:
    third = Context(
        chunk=chunk_of("Anna Brock had two sons.", "brock-0001", "brock", "Anna Brock"),
        passage="Anna Brock had two sons.", topic="Anna Brock", language="en",
    )  # fmt: skip
    evidence = "built at the Lodrin yard | founded by the shipwright Anna Brock | had two sons"
    kept = "built at the Lodrin yard founded by the shipwright Anna Brock"
    full = "Anna Brock, who had two sons"

    def bad(name: str, inputs: dict[str, Any]) -> bool:
        lacks_third = name == "grounded" and "sons" in inputs["answer"] and "sons" not in inputs["passage"]
        return lacks_third and not supported

    script = {
        "combine": written(BUILDER, full, evidence),
        "answer": ["not stated", "not stated", "the shipwright Anna Brock", "Anna Brock, who had two sons"],
    }
    if not supported:
        script["answer"][-1] = "the shipwright Anna Brock"
    outcome, engine, _ = run(
        script, "multi_context", demos=demos, contexts=(*two(), third), bad=bad, recipe="multi", llm=True
    )
    (draft,) = outcome.drafts
    assert draft.relevant == (("ferry-0001",), ("yard-0001",))
    assert draft.answer == (full if supported else "the shipwright Anna Brock")
    assert draft.metadata["focus"] == kept, "the evidence of the passage that was left out is dropped"
    assert not outcome.rejects
    assert engine.steps == ["combine", "answer", "answer", "answer", "answer"]


def test_guessed_answer_does_not_make_a_passage_unneeded(demos: Demos) -> None:
    def bad(name: str, inputs: dict[str, Any]) -> bool:
        return name == "answerable" and inputs["passage"] == YARD  # lacks what was built there

    evidence = "was built at the Lodrin yard | founded by the shipwright Anna Brock"
    script = {"combine": written(BUILDER, "Anna Brock", evidence), "answer": ["Anna Brock", "not stated", "Anna Brock"]}
    outcome, _, _ = run(script, "multi_context", demos=demos, contexts=two(), bad=bad)
    assert [draft.question for draft in outcome.drafts] == [BUILDER]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (written(BUILDER, "Anna Brock", "founded by the shipwright Anna Brock"), "its evidence lies in 1 passage"),
        (
            written(BUILDER, "Anna Brock", "built at the Lodrin yard | by Maria Kolb"),
            "its evidence is not in the passages",
        ),
        (written("none", "none", "none"), "the passages have too little to do with each other"),
    ],
)
def test_combine_needs_evidence_in_several_passages(demos: Demos, text: str, reason: str) -> None:
    outcome, _, _ = run({"combine": text}, "multi_context", demos=demos, contexts=two())
    assert reasons(outcome) == [("combine", reason)]
    outcome, _, _ = run({"combine": text}, "multi_context", demos=demos, contexts=two(), recipe="multi")
    assert reasons(outcome) == [("combine", reason)]


def test_single_and_roundtrip_support_free(demos: Demos) -> None:
    outcome, _, _ = run({"ask": DATED}, demos=demos, recipe="single")
    assert [draft.question for draft in outcome.drafts] == [DATE]
    outcome, _, _ = run({"ask": DATED}, demos=demos, recipe="roundtrip", contexts=(context_with(),))
    assert [draft.question for draft in outcome.drafts] == [DATE]


def test_roundtrip_in_free_offers_no_foci() -> None:
    context = context_with().model_copy(update={"foci": (Focus(sentence=TEXT, answer="36"),)})
    row = RECIPES["roundtrip"]
    agenda = row.agenda(material_of([context], mode="free"), row.options(), 1)
    ((offered,),) = agenda.offers("ferry-0001", 0, ()).values()
    assert offered.foci == ()


@pytest.mark.parametrize("recipe", ["evolved", "single"])
def test_finished_question_is_reworded(demos: Demos, recipe: str) -> None:
    wording = "Do you know on what date the Henn Lady struck the Grey Widow?"
    script = {"ask": DATED, "reword": wording}
    outcome, engine, _ = run(
        script, "conversational", demos=demos, bad=lambda name, _: name == "same", recipe=recipe, mix="conversational=1"
    )
    assert [(draft.question, draft.evolution) for draft in outcome.drafts] == [
        (wording, "conversational"),
        (DATE, "simple"),
    ]
    assert {draft.answer for draft in outcome.drafts} == {"22 February 2009"}
    assert engine.steps == ["ask", "answer", "reword"]
    outcome, *_ = run(script, "conversational", demos=demos, recipe=recipe, mix="conversational=1")
    assert [draft.question for draft in outcome.drafts] == [DATE], "the critic finds another question"
    assert reasons(outcome) == [("same", "it asks for something else")]
    assert not run({"ask": ""}, "conversational", demos=demos, recipe=recipe)[0].drafts
