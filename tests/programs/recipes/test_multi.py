"""The recipe ``multi``."""

from collections.abc import Sequence
from typing import Any

import pytest
from pydantic import ValidationError
from scripted_program import (
    BROCK,
    DECIDING,
    FOUNDED,
    WRITING,
    Bad,
    ListRetriever,
    Script,
    ScriptedCritic,
    ScriptedEngine,
    context_of,
    make_attempt,
    material_of,
    nothing_is_bad,
    reasons,
    tools_of,
    with_names,
)

from programs.demos import Demos
from programs.recipes import RECIPES
from programs.recipes.multi import MultiOptions
from programs.types import Attempt, Context, Outcome, StepRecord

MULTI = RECIPES["multi"]
SEED = 40
YARD, PERSON = with_names(context_of("yard", FOUNDED), context_of("brock", BROCK))
MILL = context_of("mill", ("Two brothers built the mill in 1822.", "1822"), topic="Grey Mill")
DAIRY = context_of("dairy", ("The dairy was built by two brothers in 1907.", "1907"), topic="Tarn Dairy")
PHRASE = "the shipwright who grew up in Sandgate"
BRIDGE = f"In which year did {PHRASE} found the Lodrin yard?"
SCRIPT = {
    "question": "In which year did Anna Brock found the Lodrin yard?",
    "describe": PHRASE,
    "answer": "1911",
}
TWO_THINGS = "In which year was the Lodrin yard founded, and where did its founder grow up?"
PARTS = ("In which year was the Lodrin yard founded?", "Where did the founder of the Lodrin yard grow up?")


def needing(question: str, *contexts: Context) -> Bad:
    """Return a critic's rule: the question is answerable only from all of these chunks."""

    def bad(name: str, inputs: dict[str, Any]) -> bool:
        if name != "answerable" or inputs["question"] != question:
            return False
        return any(context.passage not in inputs["passage"] for context in contexts)

    return bad


def both(*rules: Bad) -> Bad:
    return lambda name, inputs: any(rule(name, inputs) for rule in rules)


def make(
    demos: Demos,
    script: Script,
    bad: Bad = nothing_is_bad,
    contexts: Sequence[Context] = (YARD, PERSON),
    wanted: str = "multi_context",
    **options: Any,
) -> tuple[Outcome, ScriptedEngine, list[StepRecord]]:
    engine = ScriptedEngine(script)
    critics = dict.fromkeys(DECIDING, ScriptedCritic(bad))
    retriever = ListRetriever(*(context.chunk for context in contexts))
    tools = tools_of(demos=demos, critics=critics, retriever=retriever)
    attempt = Attempt(number=0, contexts=tuple(contexts), wanted=wanted, seed=SEED)
    outcome, seen = make_attempt(
        MULTI.program(tools, MultiOptions(**{"draws": 1, "mix": {wanted: 1.0}, **options})), attempt, engine
    )
    return outcome, engine, seen


def test_bridge_makes_a_question_over_two_chunks(demos: Demos) -> None:
    outcome, engine, seen = make(demos, SCRIPT, needing(BRIDGE, YARD, PERSON))
    (draft,) = outcome.drafts
    assert (draft.question, draft.answer, draft.evolution) == (BRIDGE, "1911", "multi_context")
    assert [chunk.chunk_id for chunk in draft.contexts] == ["brock", "yard"]
    assert draft.relevant == (("brock",), ("yard",))
    assert (draft.retrieval.rank, draft.metadata["source_rank"]) == (2, 2)
    assert engine.steps == ["question", "describe", "answer"]
    assert [record.step for record in seen] == [
        *("chunk", "chunk", "multi_context", "judge", "needed", "answer", "grounding"),
    ]
    assert outcome.exhausted
    assert not outcome.rejects


def test_comparison_makes_a_question_over_two_chunks(demos: Demos) -> None:
    question = "Which was built earlier, the Grey Mill or the Tarn Dairy?"
    script = {"multi_context": question, "answer": "Grey Mill"}
    outcome, engine, _ = make(demos, script, needing(question, MILL, DAIRY), (MILL, DAIRY))
    asked = engine.requests[0].messages[-1].text
    assert "Compare: which was earlier" in asked
    assert "Answer: Grey Mill" in asked
    assert engine.steps[0] == "multi_context"
    assert [(draft.question, draft.relevant) for draft in outcome.drafts] == [(question, (("mill",), ("dairy",)))]


def test_question_with_an_unneeded_chunk_is_refused(demos: Demos) -> None:
    outcome, engine, _ = make(demos, SCRIPT, needing(BRIDGE, YARD))
    assert not outcome.drafts
    (reject,) = outcome.rejects
    assert (reject.step, reject.reason, reject.chunk_id) == ("needed", "1 of 2 chunks is not needed", "brock")
    assert reject.question == BRIDGE
    assert "answer" not in engine.steps


@pytest.mark.parametrize("phrase", ["", "Anna Brock of Sandgate"])
def test_question_with_the_shared_name_is_refused(demos: Demos, phrase: str) -> None:
    outcome, _, seen = make(demos, {**SCRIPT, "describe": phrase})
    assert reasons(outcome) == [("multi_context", "a name was not described")]
    assert "judge" not in [record.step for record in seen]


def test_name_reintroduced_by_rewriting_is_refused(demos: Demos) -> None:
    better = "In which year did Anna Brock of Sandgate found the Lodrin yard?"
    script = {**SCRIPT, "feedback": "Name the person.", "rewrite": better}
    bad = both(needing(better, YARD, PERSON), lambda name, inputs: name == "clear" and inputs["question"] == BRIDGE)
    outcome, engine, _ = make(demos, script, bad)
    assert engine.steps == ["question", "describe", "feedback", "rewrite"]
    assert reasons(outcome) == [("needed", "it names Anna Brock, which a chunk describes")]


def test_unlinked_chunks_make_no_call(demos: Demos) -> None:
    outcome, engine, _ = make(demos, SCRIPT, contexts=(YARD, DAIRY))
    assert (outcome.drafts, engine.steps, outcome.exhausted) == ((), [], True)


def test_repeated_draws_are_sampled_with_different_seeds(demos: Demos) -> None:
    outcome, engine, _ = make(demos, SCRIPT, needing(BRIDGE, YARD, PERSON), draws=3)
    drawn = [(request.config.temperature, request.config.seed) for request in engine.requests[:-1]]
    assert engine.steps == ["question", "describe"] * 3 + ["answer"]
    assert drawn == [(0.0, None)] * 2 + [(0.7, SEED + 1)] * 2 + [(0.7, SEED + 2)] * 2
    assert engine.requests[-1].config.temperature == 0.0
    assert len(outcome.drafts) == 1


def test_best_passing_draw_is_kept(demos: Demos) -> None:
    other = BRIDGE.replace(" found", " establish")
    script = {**SCRIPT, "question": [SCRIPT["question"], SCRIPT["question"].replace(" found", " establish")]}
    outcome, _, _ = make(demos, script, needing(other, YARD, PERSON), draws=2)
    assert [draft.question for draft in outcome.drafts] == [other]
    assert reasons(outcome) == [("needed", "2 of 2 chunks are not needed")]


def split_into(*parts: str, yard: str = PARTS[0], person: str = PARTS[1]) -> tuple[Script, Bad]:
    """Return the script for a conjoined question, and a critic's rule that each part needs one chunk."""
    script = {**SCRIPT, "question": TWO_THINGS, "split": "; ".join(parts)}
    return script, both(needing(yard, YARD), needing(person, PERSON))


def test_conjoined_question_is_split_by_chunk(demos: Demos) -> None:
    script, bad = split_into(*PARTS)
    outcome, engine, seen = make(demos, script, bad)
    assert engine.steps == ["question", "describe", "split"]
    first, *parts = [record for record in seen if record.step == "split"]
    assert first.output == {"question": TWO_THINGS, "parts": list(PARTS)}
    assert [(part.output["of"], part.output["question"], part.output["answer"]) for part in parts] == [
        (TWO_THINGS, PARTS[0], "1911"),
        (TWO_THINGS, PARTS[1], "Sandgate"),
    ]
    assert len({record.candidate for record in (first, *parts)}) == 3
    assert not outcome.drafts
    assert reasons(outcome) == [("split", "it needs one chunk only")] * 2

    outcome, _, _ = make(demos, script, bad, singles=True)
    (draft,) = outcome.drafts
    assert (draft.question, draft.answer, draft.evolution) == (PARTS[0], "1911", "simple")
    assert draft.relevant == (("yard",),)
    assert {record.output.get("question") for record in draft.trail if record.step in ("split", "judge")} == {PARTS[0]}
    (draft,) = make(demos, {**script, "split": PARTS[1], "answer": "Sandgate"}, bad, singles=True)[0].drafts
    assert (draft.question, draft.answer, draft.relevant) == (PARTS[1], "Sandgate", (("brock",),))


def test_part_over_several_chunks_stays_multi_context(demos: Demos) -> None:
    script, _ = split_into(BRIDGE, PARTS[1])
    bad = both(needing(BRIDGE, YARD, PERSON), needing(PARTS[1], PERSON))
    outcome, _, _ = make(demos, script, bad)
    (draft,) = outcome.drafts
    assert (draft.question, draft.evolution, draft.relevant) == (BRIDGE, "multi_context", (("brock",), ("yard",)))


def test_comparing_part_keeps_its_answer(demos: Demos) -> None:
    compared = "Which was built earlier, the Grey Mill or the Tarn Dairy?"
    script = {
        "multi_context": f"{compared[:-1]}, and who built them?",
        "split": f"{compared}; Who built the Grey Mill?",
        "answer": "Grey Mill",
    }
    bad = both(needing(compared, MILL, DAIRY), needing("Who built the Grey Mill?", MILL))
    (draft,) = make(demos, script, bad, (MILL, DAIRY))[0].drafts
    assert (draft.question, draft.answer) == (compared, "Grey Mill")


def test_identical_draws_are_judged_once(demos: Demos) -> None:
    script = {**SCRIPT, "feedback": "Name the yard.", "rewrite": "When did it open?"}
    outcome, engine, _ = make(demos, script, lambda name, inputs: name == "clear", draws=3)
    assert engine.steps.count("describe") == 3
    assert engine.steps.count("feedback") == engine.steps.count("rewrite") == 1
    assert reasons(outcome) == [("judge", "not clear")]


def test_rewrite_uses_the_topic_of_the_question(demos: Demos) -> None:
    person = PERSON.model_copy(update={"topic": "Anna Brock"})
    script = {**SCRIPT, "feedback": "Name the yard.", "rewrite": "When did it open?"}
    _, engine, _ = make(demos, script, lambda name, inputs: name == "clear", (person, YARD))
    topics = [request.messages[-1].text.splitlines()[0] for request in engine.requests]
    assert engine.steps == ["question", "describe", "feedback", "rewrite"]
    assert topics[0] == topics[2] == topics[3] == f"Topic: {YARD.topic}"


def test_unanswerable_part_is_refused(demos: Demos) -> None:
    script, _ = split_into("Why is the sea salt?")
    outcome, _, _ = make(demos, script, lambda name, inputs: name == "answerable")
    assert reasons(outcome) == [("split", "no part of the question has an answer in its chunks")]


def test_refused_chunk_exhausts_the_attempt(demos: Demos) -> None:
    outcome, engine, _ = make(demos, SCRIPT, lambda name, inputs: name == "content" and BROCK[0] in inputs["passage"])
    assert (reasons(outcome), engine.steps, outcome.exhausted) == ([("chunk", "not content")], [], True)


@pytest.mark.parametrize("rubbish", ["", "\n", "the the " * 50, "\x00", "{}", "???", "? ? and who?", "桥"])
@pytest.mark.parametrize("contexts", [(YARD, PERSON), (MILL, DAIRY)])
@pytest.mark.parametrize("bad", [nothing_is_bad, lambda name, inputs: name == "clear"])
def test_garbage_completions_end_in_rejects(demos: Demos, contexts: Any, rubbish: str, bad: Bad) -> None:
    outcome, _, _ = make(demos, dict.fromkeys(WRITING.values(), rubbish), bad, contexts, draws=3, singles=True)
    assert not outcome.drafts
    assert outcome.rejects


def test_finished_question_is_reworded(demos: Demos) -> None:
    wording = "year shipwright from Sandgate founded Lodrin yard"
    script = {**SCRIPT, "reword": wording}
    needed = both(lambda name, inputs: name == "same", needing(BRIDGE, YARD, PERSON))
    outcome, engine, _ = make(demos, script, needed, wanted="terse")
    assert [(draft.question, draft.evolution) for draft in outcome.drafts] == [
        (wording, "terse"),
        (BRIDGE, "multi_context"),
    ]
    worded, plain = outcome.drafts
    assert (worded.contexts, worded.relevant, worded.answer) == (plain.contexts, plain.relevant, plain.answer)
    assert "Topic: yard | brock\n" in engine.requests[-1].messages[-1].text


def test_part_about_one_chunk_is_not_reworded(demos: Demos) -> None:
    script = {**SCRIPT, "describe": "x", "question": TWO_THINGS, "split": "; ".join(PARTS), "reword": "x"}
    outcome, engine, _ = make(demos, script, wanted="terse", singles=True)
    assert {draft.evolution for draft in outcome.drafts} <= {"simple"}
    assert "reword" not in engine.steps


def test_steps_are_predictors_of_the_program(demos: Demos) -> None:
    program: Any = MULTI.program(tools_of(demos=demos), MultiOptions(mix={"terse": 1.0}))
    steps = {path.split(".")[-1]: predict for path, predict in program.named_predictors()}
    writing = {"question", "describe", "multi_context", "split", "feedback", "rewrite", "answer", "reword"}
    assert set(steps) == {"chunk", "judge", "grounding", "same", "panel", *writing}
    assert all(steps[step].demos for step in writing)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"min_chunks": 3, "max_chunks": 2}, r"max-chunks \(2\) is less than min-chunks"),
        ({"min_chunks": 1}, "min_chunks"),
        ({"max_chunks": 6}, "max_chunks"),
        ({"similarity": 1.5}, "similarity"),
        ({"draws": 0}, "draws"),
    ],
)
def test_invalid_options_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        MultiOptions(**options)


def test_agenda_offers_linked_chunks() -> None:
    contexts = [context_of("yard", FOUNDED), DAIRY, context_of("brock", BROCK)]
    near = {"yard": {"dairy": 0.9, "brock": 0.6}, "dairy": {"yard": 0.9}, "brock": {"yard": 0.6}}
    agenda = MULTI.agenda(material_of(contexts, near), MultiOptions(), 1)
    assert agenda.keys == ("yard+brock",)
    assert agenda.offers("yard+brock", 0, ()) == {"multi_context": (YARD, PERSON)}
    assert agenda.counts["seeds"] == 3
    assert MULTI.agenda(material_of(contexts, near), MultiOptions(similarity=0.7), 1).keys == ()
    assert MULTI.agenda(material_of(contexts * 3, near), MultiOptions(), 0).counts["seeds"] == 0
    assert MULTI.shares(7, MultiOptions()) == {"multi_context": 7}
