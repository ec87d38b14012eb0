"""The recipe ``evolved`` with a scripted generator."""

from collections.abc import Callable
from typing import Any

import pytest
from pydantic import ValidationError
from scripted_program import (
    DECIDING,
    GOOD,
    TEXT,
    WRITING,
    Bad,
    Parsing,
    Script,
    ScriptedCritic,
    ScriptedEngine,
    attempt_on,
    chunk_of,
    languages_with,
    make_attempt,
    nothing_is_bad,
    reasons,
    tools_of,
)

from groundset.runtime.parser import Parser
from programs.analysis import read_chunk
from programs.demos import Demos
from programs.evolutions import EVOLUTIONS
from programs.modes import MODES
from programs.recipes import RECIPES
from programs.recipes.evolved import EvolvedOptions
from programs.steps.sound import combine
from programs.types import Attempt, Outcome, Parse, StepRecord

Make = Callable[..., tuple[Outcome, ScriptedEngine, list[StepRecord]]]
MIXED = {"simple": 2.0, "reasoning": 1.0, "conditional": 1.0}
LONG = (
    "While avoiding a small fishing boat south of Sandgate, on what date did the Henn Lady strike the rock "
    "called the Grey Widow?"
)


@pytest.fixture
def make(demos: Demos) -> Make:
    def run(
        script: Script,
        wanted: str = "simple",
        *,
        bad: Bad = nothing_is_bad,
        low: float = 0.4,
        rank: int | None = 1,
        parse: Parse | None = None,
        text: str = TEXT,
        attempt: Attempt | None = None,
        round: int = 0,
        **options: Any,
    ) -> tuple[Outcome, ScriptedEngine, list[StepRecord]]:
        options = {"candidates": 1, "mix": MIXED, **options}
        attempt = attempt or attempt_on("evolved", wanted, chunk_of(text), parse, round=round, **options)
        assert attempt is not None, f"nothing {wanted} is asked in round {round}"
        critics = dict.fromkeys(DECIDING, ScriptedCritic(bad, low))
        tools = tools_of(rank=rank, parse=parse, demos=demos, critics=critics)
        engine = ScriptedEngine(script)
        program = RECIPES["evolved"].program(tools, EvolvedOptions(**options))
        outcome, seen = make_attempt(program, attempt, engine)
        return outcome, engine, seen

    return run


def test_good_seed_becomes_a_draft_with_trail(make: Make) -> None:
    outcome, engine, seen = make({})
    (draft,) = outcome.drafts
    assert (draft.question, draft.answer, draft.evolution, draft.probability) == (
        GOOD,
        "22 February 2009",
        "simple",
        0.9,
    )
    assert [record.step for record in draft.trail] == ["chunk", "question", "judge", "sound", "answer", "grounding"]
    assert list(draft.trail) == seen
    assert draft.relevant == (("ferry-0001",),)
    assert [chunk.chunk_id for chunk in draft.contexts] == ["ferry-0001"]
    assert engine.steps == ["question", "answer"]
    assert [focus.answer for focus in outcome.used_foci] == ["22 February 2009"]
    assert not outcome.rejects
    assert not outcome.exhausted


def test_bad_chunk_makes_no_call_and_is_exhausted(make: Make) -> None:
    outcome, engine, _ = make({}, bad=lambda name, inputs: name == "content")
    assert engine.steps == []
    assert outcome.exhausted
    assert reasons(outcome) == [("chunk", "not content")]


def test_refused_question_is_rewritten_with_feedback(make: Make) -> None:
    outcome, engine, _ = make(
        {"question": "When did it strike?", "feedback": "Name the ship.", "rewrite": GOOD},
        bad=lambda name, inputs: name == "independent" and inputs["question"] == "When did it strike?",
    )
    assert [draft.question for draft in outcome.drafts] == [GOOD]
    assert engine.steps == ["question", "feedback", "rewrite", "answer"]


def test_failed_rewrite_is_refused_once(make: Make) -> None:
    outcome, engine, _ = make(
        {"question": "It?", "feedback": "Name it.", "rewrite": "They?"}, bad=lambda name, inputs: name == "independent"
    )
    assert not outcome.drafts
    assert reasons(outcome) == [("judge", "not independent")]
    assert engine.steps.count("rewrite") == 1


@pytest.mark.parametrize(
    ("script", "step", "reason"),
    [
        ({"answer": "not stated"}, "answer", "not found in the passage"),
        ({"answer": ""}, "answer", "not found in the passage"),
        ({"answer": "Sandgate"}, "answer", "another answer than expected"),
        ({"question": "", "answer": "Sandgate"}, "answer", "another answer than expected"),
    ],
)
def test_generator_must_find_the_expected_answer(make: Make, script: Script, step: str, reason: str) -> None:
    outcome, _, _ = make(script)
    assert not outcome.drafts
    assert reasons(outcome) == [(step, reason)]


def test_unsound_question_is_not_answered(make: Make) -> None:
    asked: list[dict[str, str]] = []

    def unsound(name: str, inputs: dict[str, str]) -> bool:
        if name == "sound":
            asked.append(inputs)
        return name == "sound"

    outcome, _, seen = make({}, bad=unsound)
    assert len(outcome.drafts) == 1, "a good judge decision outweighs it"
    weighed = next(step for step in seen if step.step == "sound")
    assert weighed.probability == pytest.approx(combine(0.9, 0.4), abs=1e-4)
    asked.clear()
    outcome, engine, _ = make({}, bad=unsound, low=0.1)
    assert not outcome.drafts
    assert reasons(outcome) == [("sound", "question and answer are not sound")]
    assert engine.steps == ["question"]
    assert asked[0]["question"] == GOOD
    assert asked[0]["answer"] == "22 February 2009"
    assert asked[0]["answer"] in asked[0]["fact"]


def test_question_about_another_part_keeps_the_found_answer(make: Make) -> None:
    outcome, _, seen = make({"question": "What did the ferry strike on 22 February 2009?", "answer": "Grey Widow"})
    assert [draft.answer for draft in outcome.drafts] == ["Grey Widow"]
    assert next(step for step in seen if step.step == "answer").output["meant"] == "22 February 2009"


def test_unsupported_answer_and_low_rank_are_refused(make: Make) -> None:
    assert reasons(make({}, bad=lambda name, inputs: name == "grounded")[0]) == [("grounding", "answer not supported")]
    assert reasons(make({}, rank=6)[0]) == [("retrieval", "source chunk too far")]
    assert reasons(make({}, rank=None)[0]) == [("retrieval", "source chunk not found")]
    recorded, _, _ = make({}, rank=None, max_rank=0)
    assert [draft.retrieval.rank for draft in recorded.drafts] == [None]


def test_reasoning_replaces_a_name_by_a_description(make: Make, parser: Parser) -> None:
    seed = "On what date did the Henn Lady strike a rock?"
    script: Script = {"question": seed, "reasoning": "ferry", "compress": "x" * 400}
    outcome, engine, _ = make(script, "reasoning", candidates=4, parse=parser)
    evolved, fallback = outcome.drafts
    assert evolved.question == "On what date did the ferry that carries 36 cars strike a rock?"
    assert evolved.evolution == "reasoning"
    assert evolved.metadata["seed_question"] == seed
    assert {record.step for record in evolved.trail} >= {"chunk", "question", "judge", "reasoning", "same", "answer"}
    assert (fallback.question, fallback.evolution) == (seed, "simple")
    assert "reasoning" in engine.steps


def test_kind_from_syntax_needs_no_call(make: Make, parser: Parser) -> None:
    outcome, engine, _ = make({}, "reasoning", candidates=4, parse=parser)
    assert outcome.drafts[0].question == "On what date did the Henn Lady strike the unlit rock south of Sandgate?"
    assert "reasoning" not in engine.steps


def test_condition_from_syntax_needs_no_call(make: Make, parser: Parser) -> None:
    outcome, engine, _ = make({}, "conditional", candidates=4, parse=parser)
    assert outcome.drafts[0].question == f"{GOOD[:-1]} while avoiding a small fishing boat?"
    assert "conditional" not in engine.steps


def test_evolution_must_keep_the_answer_of_its_seed(make: Make) -> None:
    seed = "What did the ferry strike on 22 February 2009?"
    script: Script = {
        "question": seed,
        "answer": ["Grey Widow", "small fishing boat"],
        "conditional": f"While avoiding a small fishing boat, {seed}",
        "compress": "x" * 400,
    }
    outcome, _, _ = make(script, "conditional")
    assert [reject.reason for reject in outcome.rejects] == [
        "another answer than expected: 'small fishing boat', not 'Grey Widow'"
    ]
    assert [(draft.evolution, draft.answer) for draft in outcome.drafts] == [("simple", "Grey Widow")]


@pytest.mark.parametrize("kind", ["journalist", "36"])
def test_kind_not_in_the_passage_is_refused(make: Make, parser: Parser, kind: str) -> None:
    script: Script = {"question": "On what date did the Henn Lady strike a rock?", "reasoning": kind}
    outcome, _, _ = make(script, "reasoning", candidates=4, parse=parser)
    assert [draft.evolution for draft in outcome.drafts] == ["simple"]
    assert reasons(outcome)[-1] == ("reasoning", f"'{kind}' is no kind of 'Henn Lady'")


def test_unchanged_evolution_falls_back_to_the_seed(make: Make) -> None:
    outcome, _, _ = make({"conditional": GOOD}, "conditional", bad=lambda name, inputs: name == "same")
    assert [draft.evolution for draft in outcome.drafts] == ["simple"]
    assert reasons(outcome) == [("same", "the evolution changed nothing")]


def test_shortened_evolution_is_kept_only_if_good(make: Make) -> None:
    short = "While avoiding a boat, when did the Henn Lady strike the Grey Widow?"
    script: Script = {"conditional": LONG, "compress": short}
    taken, _, _ = make(script, "conditional")
    assert taken.drafts[0].question == short
    kept, _, _ = make(script, "conditional", bad=lambda name, inputs: name == "clear" and inputs["question"] == short)
    assert kept.drafts[0].question == LONG


def test_shortened_question_must_keep_content_words(make: Make) -> None:
    outcome, _, _ = make({"conditional": LONG, "compress": "When did the boat strike the Henn Lady?"}, "conditional")
    assert outcome.drafts[0].question == LONG


def test_hard_round_is_exhausted_without_new_foci(make: Make) -> None:
    hard = make({"answer": "x"}, round=4, ask="all")[0]
    assert hard.used_foci
    assert not hard.exhausted
    context = read_chunk(chunk_of(), languages_with(None))
    attempt = Attempt(
        number=0, contexts=(context.model_copy(update={"foci": ()}),), wanted="simple", used_foci=context.foci, round=4
    )
    last, engine, _ = make({"keyphrases": ""}, attempt=attempt)
    assert last.exhausted
    assert engine.steps == ["keyphrases"]
    assert reasons(last) == [("keyphrases", "no further sentence can carry a question")]


def test_only_evolvable_foci_are_used(make: Make) -> None:
    script: Script = {"keyphrases": "36 cars", "conditional": LONG, "compress": LONG}
    outcome, engine, _ = make(script, "conditional", round=4, candidates=9, mix="conditional=1")
    assert engine.steps[0] == "keyphrases"
    assert {focus.sentence for focus in outcome.used_foci} == {TEXT[TEXT.index("On 22") :]}


@pytest.mark.parametrize("rubbish", ["", "\n", "the the " * 50, "\x00", "{}", "???", "桥"])
@pytest.mark.parametrize("wanted", MODES["guided"].evolutions)
def test_garbage_completions_end_in_rejects(make: Make, rubbish: str, wanted: str) -> None:
    context = read_chunk(chunk_of(), languages_with(None))
    for foci in (context.foci, ()):
        attempt = Attempt(number=0, contexts=(context.model_copy(update={"foci": foci}),), wanted=wanted)
        outcome, _, _ = make(dict.fromkeys(WRITING.values(), rubbish), attempt=attempt)
        assert not outcome.drafts
        assert outcome.rejects


def test_steps_are_predictors_of_the_program(demos: Demos) -> None:
    program: Any = RECIPES["evolved"].program(
        tools_of(demos=demos), EvolvedOptions(answer_variants=1, mix={"terse": 1.0})
    )
    steps = {path.split(".")[-1]: predict for path, predict in program.named_predictors()}
    writing = {*WRITING.values()} - {"describe", "multi_context", "split"}  # the steps of `multi`
    writing -= {*MODES["free"].steps, "open_answer", "translate"}
    writing -= {"clues", "distil", "profiles", "ask_profiled"}  # the steps of `profiled`
    assert set(steps) == {"chunk", "judge", "same", "grounding", "sound", "panel", "agree", *writing}
    assert all(steps[step].demos for step in writing)


def test_question_with_its_answer_is_replaced_by_the_opening(make: Make, parser: Parser) -> None:
    outcome, _, _ = make({"question": "Who was the Henn Lady?", "answer": "the Henn Lady"}, parse=parser)
    assert [draft.question for draft in outcome.drafts] == ["Who struck the Grey Widow on 22 February 2009?"]


def test_full_opening_is_not_rewritten(make: Make, parser: Parser) -> None:
    outcome, engine, _ = make({}, bad=lambda name, inputs: name == "clear", parse=parser)
    assert not outcome.drafts
    assert engine.steps == ["question"]


def test_ask_easy_skips_parsed_chunks_without_easy_foci(make: Make, parser: Parser) -> None:
    nothing = Parsing(parser("It rained.", "en"))
    for round in range(6):
        assert attempt_on("evolved", "simple", chunk_of(), nothing, round=round, ask="easy") is None
    assert attempt_on("evolved", "simple", chunk_of(), nothing, round=0, ask="all") is None
    hard, engine, _ = make({}, round=4, parse=nothing, ask="all")
    assert engine.steps == ["keyphrases", "question", "answer"]
    assert hard.drafts
    unread, engine, _ = make({}, round=4, parse=Parsing(None), ask="easy")
    assert engine.steps == ["keyphrases", "question", "answer"]
    assert unread.drafts


@pytest.mark.parametrize(
    ("found", "accepted"),
    [
        ("Tidepool", True),  # only the name
        ("Tidepool is a small job queue", True),  # the first words of the answer
        ("the weather service", False),
    ],
)
def test_definition_is_kept_unless_another_answer_is_found(
    make: Make, found: str, accepted: bool, parser: Parser
) -> None:
    text = "Tidepool is a small job queue for Python that keeps its jobs in a single file."
    outcome, _, _ = make({"question": "What is Tidepool?", "answer": found}, parse=parser, text=text)
    meant = "a small job queue for Python that keeps its jobs in a single file"
    assert [draft.answer for draft in outcome.drafts] == [meant] * accepted


@pytest.mark.parametrize(
    ("mix", "message"),
    [
        ("clever=1", "no evolution is called 'clever'"),
        ("simple=0", "one of them above 0"),
        ("simple=-1", "weights must be 0 or more"),
        ("simple=nan", "weights must be 0 or more"),
    ],
)
def test_invalid_mix_is_refused(mix: str, message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        EvolvedOptions(mix=mix)  # type: ignore[arg-type]


def test_shares_follow_the_mix() -> None:
    shares = RECIPES["evolved"].shares
    none = dict.fromkeys(EVOLUTIONS, 0)
    assert shares(8, EvolvedOptions(mix=MIXED)) == {**none, "simple": 4, "reasoning": 2, "conditional": 2}
    assert shares(8, EvolvedOptions()) == {**none, "simple": 8}
    assert list(shares(4, EvolvedOptions(mix={"conditional": 1, "simple": 1}))) == list(EVOLUTIONS)
