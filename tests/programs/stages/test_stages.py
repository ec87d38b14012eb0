"""The stages, as far as the tests of recipes do not cover them."""

from collections.abc import Callable
from typing import Any

import dspy
import pytest
from scripted_program import (
    DECIDING,
    GOOD,
    PAIR,
    TEXT,
    FixedRetriever,
    Script,
    ScriptedCritic,
    ScriptedEngine,
    chunk_of,
    context_of,
    languages_with,
    nothing_is_bad,
    tools_of,
    trail_of,
)

from groundset.runtime.adapter import PlainTextAdapter
from programs.analysis import read_chunk
from programs.demos import Demos
from programs.modes.base import AskOptions
from programs.modes.guided import Ask
from programs.stages.answer import Answer
from programs.stages.contexts import Contexts
from programs.stages.finish import Finish
from programs.stages.judge_and_rewrite import JudgeAndRewrite, Judged
from programs.stages.seed import Seed
from programs.steps import STEPS
from programs.steps.rewrite import MIN_PROBABILITY
from programs.tools import Tools
from programs.trail import Trail
from programs.types import Attempt, Context, Focus, StepRecord

BUILT = "In which year was the Henn Lady built at the Lodrin yard?"
STRUCK = Focus(sentence=TEXT[TEXT.index("On 22") :], answer="22 February 2009")
OTHER = chunk_of("Sandgate lies on the coast of Henn.", "town-0001", "town", "Sandgate")
FIRST, SECOND = read_chunk(chunk_of(), languages_with(None)), read_chunk(OTHER, languages_with(None))
FOCI = tuple(sorted(FIRST.foci, key=lambda focus: focus.answer != "2004"))[:2]  # 2004, then 22 February 2009
Run = Callable[..., Any]


def trail_on(*contexts: Context, **changes: Any) -> Trail:
    return trail_of(Attempt(number=0, contexts=contexts, wanted="simple", **changes))[0]


def judged(trail: Trail, question: str = GOOD, *, tools: Tools | None = None) -> Judged:
    return JudgeAndRewrite(tools or tools_of())(trail, 0, STRUCK, question)


def rejects(trail: Trail) -> list[tuple[str, str]]:
    return [(reject.step, reject.reason) for reject in trail.outcome().rejects]


@pytest.fixture
def run(demos: Demos) -> Run:
    """Return a function that calls another one with a scripted generator."""

    def call(function: Callable[[], Any], script: Script) -> tuple[Any, ScriptedEngine]:
        engine = ScriptedEngine(script)
        with dspy.context(lm=engine.lm, adapter=PlainTextAdapter()):
            return function(), engine

    return call


def test_scored_chunk_is_not_scored_again() -> None:
    critic = ScriptedCritic()
    stage = Contexts(tools_of(critics={"chunk": critic}))
    stage.embed_ahead([FIRST])
    scored = FIRST.model_copy(update={"score": stage.score(FIRST)})
    assert (scored.score.step, scored.score.verdict, scored.score.probability) == ("chunk", "good", 0.9)
    critic.asked.clear()
    ahead, now = trail_on(scored), trail_on(FIRST)
    assert stage(ahead)
    assert not critic.asked
    assert stage(now)
    assert critic.asked == [{"topic": "Henn ferry", "passage": TEXT}]
    assert ahead.records_of() == now.records_of()


def test_every_context_must_be_good() -> None:
    bad = {"bad": lambda name, inputs: name == "self_contained" and inputs["topic"] == "Sandgate"}
    trail = trail_on(FIRST, SECOND)
    assert not Contexts(tools_of(**bad))(trail)
    assert rejects(trail) == [("chunk", "not self-contained")]
    assert trail.outcome().rejects[0].chunk_id == "town-0001"
    assert [record.verdict for record in trail.records_of()] == ["good", "bad"]
    refused = SECOND.model_copy(update={"score": StepRecord(step="chunk", verdict="bad", reason="not content")})
    assert not Contexts(tools_of())(trail_on(refused))


def test_question_is_judged_on_all_contexts() -> None:
    critic, retriever = ScriptedCritic(), FixedRetriever()
    trail = trail_on(FIRST, SECOND)
    found = judged(trail, tools=tools_of(critics={"judge": critic}, retriever=retriever))
    assert found.passage == f"{TEXT}\n\n{OTHER.text}"
    assert critic.asked == [{"passage": found.passage, "question": GOOD}]
    assert found.relevant == (("ferry-0001",), ("town-0001",))
    assert retriever.relevant == [found.relevant]


def test_empty_question_can_be_judged() -> None:
    assert judged(trail_on(FIRST), "").question == "-"


@pytest.mark.parametrize(
    ("low", "focus", "calls"),
    [
        (0.4, STRUCK, ["feedback", "rewrite"]),
        (MIN_PROBABILITY - 0.01, STRUCK, []),  # too unlikely to be good
        (0.4, STRUCK.model_copy(update={"opening": "On what date did the Henn Lady strike it"}), []),
    ],
)
def test_only_promising_questions_are_rewritten(
    demos: Demos, run: Run, low: float, focus: Focus, calls: list[str]
) -> None:
    critic = ScriptedCritic(lambda name, inputs: name == "clear" and inputs["question"] != GOOD, low)
    stage = JudgeAndRewrite(tools_of(critics={"judge": critic}, demos=demos))
    trail = trail_on(FIRST)
    refused = stage(trail, 0, focus, "When did it strike?")
    rewritten, engine = run(lambda: stage.rewrite_refused(trail, refused), {"feedback": "Name it.", "rewrite": GOOD})
    assert engine.steps == calls
    assert rewritten.decision.good is bool(calls)
    assert rewritten.number == refused.number


def test_reason_of_the_critic_is_the_feedback(demos: Demos, run: Run) -> None:
    critic = ScriptedCritic(lambda name, inputs: name == "clear" and inputs["question"] != GOOD, reason="which ship?")
    stage = JudgeAndRewrite(tools_of(critics={"judge": critic}, demos=demos))
    trail = trail_on(FIRST)
    refused = stage(trail, 0, STRUCK, "When did it strike?")
    stage.refuse(trail, refused)
    assert (trail.records_of(0)[0].reason, rejects(trail)) == (
        "not clear: which ship?",
        [("judge", "not clear: which ship?")],
    )
    rewritten, engine = run(lambda: stage.rewrite_refused(trail, refused), {"rewrite": GOOD})
    assert (rewritten.decision.good, engine.steps) == (True, ["rewrite"])
    assert "Feedback: which ship?" in str(engine.requests[0].messages[-1].text)


@pytest.mark.parametrize("llm", [False, True])
def test_llm_judge_sees_title_and_headings(demos: Demos, *, llm: bool) -> None:
    critic = ScriptedCritic()
    vars(critic)["is_llm_judge"] = llm
    context = context_of("ship", ("The ship struck a rock.", "rock"), topic="Log of the Ansa")
    JudgeAndRewrite(tools_of(critics={"judge": critic}, demos=demos))(trail_on(context), 0, STRUCK, GOOD)
    [passage] = {inputs["passage"] for inputs in critic.asked}
    assert passage == (f"[Log of the Ansa]\n{context.passage}" if llm else context.passage)


def test_unsupported_answer_is_refused_with_the_reason(demos: Demos, run: Run) -> None:
    critic = ScriptedCritic(lambda *_: True, reason="the date is of another ship")
    tools, trail = tools_of(demos=demos, critics={"judge": ScriptedCritic(), "grounding": critic}), trail_on(FIRST)
    found, _ = run(lambda: Answer(tools)(trail, judged(trail)), {})
    assert found is None
    reason = "answer not supported: '22 February 2009': the date is of another ship"
    assert rejects(trail) == [("grounding", reason)]
    assert trail.records_of(0)[-1].reason == "the date is of another ship"


def test_unchanged_rewrite_is_not_judged(demos: Demos, run: Run) -> None:
    critic = ScriptedCritic(lambda name, inputs: True)
    stage = JudgeAndRewrite(tools_of(critics={"judge": critic}, demos=demos))
    trail = trail_on(FIRST)
    refused = stage(trail, 0, STRUCK, GOOD)
    rewritten, _ = run(lambda: stage.rewrite_refused(trail, refused), {"feedback": "-", "rewrite": GOOD})
    assert rewritten == refused
    assert len(critic.asked) == 1


@pytest.mark.parametrize(
    ("ranks", "bad", "expected"),
    [
        ({BUILT: 2, GOOD: 1}, nothing_is_bad, [GOOD, BUILT]),
        ({BUILT: None, GOOD: 7}, nothing_is_bad, [GOOD, BUILT]),
        ({}, nothing_is_bad, [BUILT, GOOD]),
        ({BUILT: 1, GOOD: 9}, lambda name, inputs: inputs["question"] == BUILT, [GOOD, BUILT]),
    ],
)
def test_questions_are_sorted_by_probability_and_rank(
    demos: Demos, run: Run, ranks: Any, bad: Any, expected: list[str]
) -> None:
    tools = tools_of(demos=demos, retriever=FixedRetriever(ranks=ranks), critics={"judge": ScriptedCritic(bad)})
    ask = Ask(tools, JudgeAndRewrite(tools), AskOptions(2))
    found, engine = run(lambda: ask(trail_on(FIRST), FOCI), {"question": [BUILT, GOOD]})
    assert [each.question for each in found] == expected
    assert engine.steps == ["question", "question"]


def test_only_the_best_refused_question_is_rewritten(demos: Demos, run: Run) -> None:
    vague = "When did it strike the Grey Widow?"
    critic = ScriptedCritic(lambda name, inputs: inputs["question"] in (BUILT, vague))
    tools = tools_of(demos=demos, critics={"judge": critic})
    script = {"question": [BUILT, vague], "feedback": "Name it.", "rewrite": GOOD}
    found, engine = run(lambda: Ask(tools, JudgeAndRewrite(tools), AskOptions(2))(trail_on(FIRST), FOCI), script)
    assert [each.question for each in found] == [GOOD, vague]
    assert engine.steps == ["question", "question", "feedback", "rewrite"]


def test_no_foci_make_no_questions(run: Run) -> None:
    tools = tools_of()
    assert run(lambda: Ask(tools, JudgeAndRewrite(tools), AskOptions(2))(trail_on(FIRST), ()), {})[0] == []


def test_key_phrases_give_unused_foci(demos: Demos, run: Run) -> None:
    tools = tools_of(demos=demos)
    ask = Ask(tools, JudgeAndRewrite(tools), AskOptions(2))
    script = {"keyphrases": "36 cars; a lighthouse; Lodrin yard"}
    trail = trail_on(FIRST)
    (everything, left), _ = run(lambda: ask.look_for_foci(trail, lambda focus: True), script)
    assert len(everything) == 2
    assert not left
    output = trail.records_of()[-1].output
    assert (output["keyphrases"], output["dropped"]) == (["36 cars", "Lodrin yard"], 1)

    asked = tuple(focus.model_copy(update={"opening": "Whose"}) for focus in everything)
    (others, _), _ = run(lambda: ask.look_for_foci(trail_on(FIRST, used_foci=asked), lambda focus: True), script)
    assert not {focus.answer for focus in others} & {focus.answer for focus in everything}
    (cars, exhausted), _ = run(lambda: ask.look_for_foci(trail, lambda focus: focus.answer == "36 cars"), script)
    assert ([focus.answer for focus in cars], exhausted) == (["36 cars"], False)  # others are left, for another kind


def pair_asker(demos: Demos, **others: Any) -> Ask:
    tools = tools_of(demos=demos, states={"pair": STEPS["pair"].predictor().dump_state()}, **others)
    return Ask(tools, JudgeAndRewrite(tools), AskOptions(2))


def test_pair_asks_about_open_foci(demos: Demos, run: Run) -> None:
    ask, trail = pair_asker(demos), trail_on(FIRST)
    foci, exhausted = ask.look_for_foci(trail, lambda focus: True)
    assert {(focus.sentence in TEXT, focus.answer) for focus in foci} == {(True, "")}
    assert (len(foci), exhausted) == (2, True)
    asked = next(focus for focus in foci if focus.sentence == STRUCK.sentence)
    (found,), engine = run(lambda: ask(trail, (asked,)), {})
    assert (found.question, found.focus.answer) == (GOOD, "22 February 2009")
    shown = str(engine.requests[0].messages[-1].text)
    assert f"Before: {TEXT[: TEXT.index('On 22')].strip()}" in shown
    assert ask.look_for_foci(trail_on(FIRST, used_foci=foci), lambda focus: True) == ((), True)


@pytest.mark.parametrize(
    ("written", "reason"),
    [
        ("Answer: 1 May\nQuestion: When did it sink?", "the sentence does not hold the answer: '1 May'"),
        ("Question: When did it sink?", "the sentence does not hold the answer: ''"),
        ("", "the sentence does not hold the answer: ''"),
        (f"Answer: {STRUCK.sentence}\nQuestion: What did it do?", "the answer is the whole sentence"),
        ("Answer: the Grey Widow\nQuestion: Who is the Grey Widow?", "it gives its answer away: 'the Grey Widow'"),
        (
            "Answer: the Grey Widow\nQuestion: When did it sink?",
            "it asks for another kind of thing than 'the Grey Widow'",
        ),
    ],
)
def test_pair_refused_by_simple_checks_is_drawn_again(demos: Demos, run: Run, written: str, reason: str) -> None:
    ask, trail = pair_asker(demos), trail_on(FIRST, seed=7)
    found, engine = run(lambda: ask(trail, (STRUCK.model_copy(update={"answer": ""}),)), {"pair": written})
    assert found == []
    assert rejects(trail) == [("pair", reason)] * 3
    assert [request.config.seed for request in engine.requests] == [None, 8, 9]


def test_pair_keeps_a_later_good_draw(demos: Demos, run: Run) -> None:
    ask, trail = pair_asker(demos), trail_on(FIRST)
    (found,), engine = run(lambda: ask(trail, (STRUCK.model_copy(update={"answer": ""}),)), {"pair": ["", PAIR]})
    assert found.question == GOOD
    assert engine.steps == ["pair", "pair"]


def test_unsound_pair_is_drawn_again(demos: Demos, run: Run) -> None:
    wrong = PAIR.replace(GOOD, "On what date was the Henn Lady built?")
    critic = ScriptedCritic(lambda name, inputs: "built" in inputs["question"], low=0.49)
    ask, trail = pair_asker(demos, critics={"judge": ScriptedCritic(), "sound": critic}), trail_on(FIRST)
    (found,), engine = run(lambda: ask(trail, (STRUCK.model_copy(update={"answer": ""}),)), {"pair": [wrong, PAIR]})
    assert (found.question, engine.steps) == (GOOD, ["pair", "pair"])
    assert rejects(trail) == [("sound", "question and answer are not sound")]
    assert critic.asked[0] == {
        "topic": "Henn ferry",
        "before": TEXT[: TEXT.index("On 22")].strip(),
        "fact": STRUCK.sentence,
        "question": "On what date was the Henn Lady built?",
        "answer": "22 February 2009",
    }


def test_pair_above_its_threshold_is_kept(demos: Demos, run: Run) -> None:
    critics = {"judge": ScriptedCritic(), "sound": ScriptedCritic(lambda name, inputs: True, low=0.51)}
    (found,), engine = run(
        lambda: pair_asker(demos, critics=critics)(trail_on(FIRST), (STRUCK.model_copy(update={"answer": ""}),)),
        {"pair": PAIR},
    )
    assert (found.question, engine.steps) == (GOOD, ["pair"])


def test_refused_pair_is_not_rewritten(demos: Demos, run: Run) -> None:
    critic = ScriptedCritic(lambda name, inputs: True)
    ask = pair_asker(demos, critics={"judge": critic})
    (found,), engine = run(lambda: ask(trail_on(FIRST), (STRUCK.model_copy(update={"answer": ""}),)), {})
    assert not found.decision.good
    assert engine.steps == ["pair"]


def test_answer_has_the_probability_of_grounding(demos: Demos, run: Run) -> None:
    tools, trail = tools_of(demos=demos), trail_on(FIRST)
    found, _ = run(lambda: Answer(tools)(trail, judged(trail)), {"answer": "Answer: on 22 February 2009."})
    assert found == ("22 February 2009", 0.9)
    assert [record.step for record in trail.records_of(0)] == ["judge", "answer", "grounding"]


def test_draft_has_all_contexts_and_the_smaller_probability(demos: Demos, run: Run) -> None:
    critics = dict.fromkeys(DECIDING, ScriptedCritic()) | {"grounding": ScriptedCritic(lambda *_: True, low=0.6)}
    tools, trail = tools_of(demos=demos, critics=critics), trail_on(FIRST, SECOND)
    draft, _ = run(
        lambda: Finish(tools, JudgeAndRewrite(tools), Answer(tools), 5)(trail, judged(trail), "reasoning"), {}
    )
    assert (draft.evolution, draft.probability) == ("reasoning", 0.6)
    assert draft.metadata == {"focus": STRUCK.sentence, "kind": "time", "source_rank": 1}
    assert [chunk.chunk_id for chunk in draft.contexts] == ["ferry-0001", "town-0001"]
    assert draft.relevant == (("ferry-0001",), ("town-0001",))


def test_next_question_is_the_seed_if_the_best_fails(demos: Demos, run: Run) -> None:
    tools, trail = tools_of(demos=demos), trail_on(FIRST)
    judging = JudgeAndRewrite(tools)
    seed = Seed(Ask(tools, judging, AskOptions(2)), Finish(tools, judging, Answer(tools), 5))
    script = {"question": [BUILT, GOOD], "answer": ["not stated", "22 February 2009"]}
    (asked, draft), engine = run(lambda: seed(trail, FOCI), script)
    assert (asked.number, draft.question) == (1, GOOD)
    assert engine.steps == ["question", "question", "answer", "answer"]
    assert {record.candidate for record in draft.trail} == {1}
    assert [step for step, _ in rejects(trail)] == ["answer"]
