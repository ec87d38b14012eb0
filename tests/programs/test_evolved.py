"""The recipe ``evolved`` with a scripted generator: every way that a candidate can go."""

from collections.abc import Callable
from typing import Any

import dspy
import pytest
from dspy.lm15 import Message, Request, Response, Usage

from groundset.runtime.adapter import PlainTextAdapter
from groundset.runtime.parser import Parser
from programs.languages import LANGUAGES
from programs.languages.table import Languages
from programs.recipes import RECIPES, build_recipe
from programs.steps import STEPS as ALL_STEPS
from programs.steps.demos import Demos
from programs.types import Attempt, Chunk, Evolution, Outcome, Parse, Retrieval, StepRecord

TEXT = (
    "The Henn Lady carries 36 cars and was built at the Lodrin yard in 2004. "
    "On 22 February 2009 the Henn Lady struck the Grey Widow, an unlit rock south of Sandgate, while avoiding a "
    "small fishing boat."
)
CHUNK = Chunk(
    chunk_id="ferry-0001", doc_id="ferry", path="ferry.md", title="Henn ferry", start=0, end=len(TEXT), text=TEXT
)
GOOD = "On what date did the Henn Lady strike the Grey Widow?"
STEPS = {
    "List three": "keyphrases",
    "Write one question": "question",
    "Say in one or two": "reasoning",
    "Rewrite the question so": "conditional",
    "Say the question": "compress",
    "Say in one short": "feedback",
    "Rewrite the question as": "rewrite",
    "Answer the question": "answer",
}
Script = dict[str, str | list[str]]


class ScriptedEngine:
    """Answers each step with its next scripted line; the last one is repeated."""

    def __init__(self, script: Script) -> None:
        self._script = {step: [lines] if isinstance(lines, str) else list(lines) for step, lines in script.items()}
        self.steps: list[str] = []

    def complete(self, request: Request) -> Response:
        step = next(name for opening, name in STEPS.items() if str(request.system).startswith(opening))
        self.steps.append(step)
        lines = self._script[step]
        text = lines.pop(0) if len(lines) > 1 else lines[0]
        usage = Usage(input_tokens=1, output_tokens=1, total_tokens=2)
        return Response(id=None, model="local/x", message=Message.assistant(text), finish_reason="stop", usage=usage)


class ScriptedCritic:
    """Finds everything good unless ``bad`` says otherwise of an output's name and its inputs.

    Nothing is fit that has a fault.
    """

    supports_decision_requests = True

    def __init__(self, bad: Callable[[str, dict[str, Any]], bool]) -> None:
        self._bad = bad

    def __call__(self, state: dict[str, Any], questions: dict[str, Any]) -> dict[str, Any]:
        answers: dict[str, Any] = {}
        for name, question in questions.items():
            faults = questions if name == "fit" else [name]
            probability = 0.4 if any(self._bad(fault, state["inputs"]) for fault in faults) else 0.9
            if question["type"] == "noul":
                answers[name] = {"noul": 1 - probability if name == "same" else probability}
            else:
                answers[name] = {"probabilities": {"0": 0.0, "1": 0.5, "2": 0.5}, "confidence": 0.0}
        return answers


class FixedRetriever:
    def __init__(self, rank: int | None) -> None:
        self._rank = rank

    def rank(self, query: str, relevant: tuple[str, ...]) -> Retrieval:
        return Retrieval(rank=self._rank, retrieved_id="x", retrieved_content="", score=1 if self._rank == 1 else 0)


class Parsing:
    """Reads every sentence as the same one; no language at all without it."""

    def __init__(self, read: Any | None) -> None:
        self._read = read

    def __call__(self, sentence: str, language: str) -> Any | None:
        return self._read

    def reads(self, language: str) -> bool:
        return self._read is not None


Make = Callable[..., tuple[Outcome, ScriptedEngine, list[StepRecord]]]


@pytest.fixture
def make(demos: Demos) -> Make:
    def run(
        script: Script,
        evolution: Evolution = "simple",
        *,
        bad: Callable[[str, dict[str, Any]], bool] = lambda name, inputs: False,
        rank: int | None = 1,
        max_rank: int = 5,
        candidates: int = 1,
        round: int = 0,
        parse: Parse | None = None,
        only_easy: bool = False,
        text: str = TEXT,
    ) -> tuple[Outcome, ScriptedEngine, list[StepRecord]]:
        engine = ScriptedEngine(
            {"keyphrases": "22 February 2009", "question": GOOD, "answer": "22 February 2009", **script}
        )
        lm = dspy.LM("local/x", engine=engine, cache=False, num_retries=0)
        recipe = build_recipe(
            "evolved",
            critics=dict.fromkeys(ALL_STEPS, ScriptedCritic(bad)),
            retriever=FixedRetriever(rank),
            candidates=candidates,
            max_rank=max_rank,
            demos=demos,
            languages=Languages(LANGUAGES, parse),
            only_easy=only_easy,
        )
        seen: list[StepRecord] = []
        chunk = CHUNK.model_copy(update={"text": text, "end": len(text)})
        attempt = Attempt(number=0, chunk=chunk, evolution=evolution, round=round)
        with dspy.context(lm=lm, adapter=PlainTextAdapter()):
            return recipe(attempt=attempt, observer=seen.append), engine, seen

    return run


def reasons(outcome: Outcome) -> list[tuple[str, str]]:
    return [(reject.step, reject.reason.split(":")[0]) for reject in outcome.rejects]


def test_a_good_seed_becomes_a_draft_with_its_trail(make: Make) -> None:
    outcome, engine, seen = make({})
    assert outcome.draft is not None
    assert (outcome.draft.question, outcome.draft.answer) == (GOOD, "22 February 2009")
    assert outcome.draft.evolution == "simple"
    assert outcome.draft.probability == 0.9
    assert [record.step for record in outcome.draft.trail] == ["chunk", "question", "judge", "answer", "grounding"]
    assert list(outcome.draft.trail) == seen
    assert engine.steps == ["question", "answer"]
    assert not outcome.rejects


def test_a_bad_chunk_costs_no_call_and_is_exhausted(make: Make) -> None:
    outcome, engine, _ = make({}, bad=lambda name, inputs: name == "content")
    assert engine.steps == []
    assert outcome.exhausted
    assert reasons(outcome) == [("chunk", "not content")]


def test_a_refused_question_is_mended_with_feedback_and_judged_again(make: Make) -> None:
    outcome, engine, _ = make(
        {"question": "When did it strike?", "feedback": "Name the ship.", "rewrite": GOOD},
        bad=lambda name, inputs: name == "independent" and inputs["question"] == "When did it strike?",
    )
    assert outcome.draft is not None
    assert outcome.draft.question == GOOD
    assert engine.steps == ["question", "feedback", "rewrite", "answer"]


def test_a_question_that_cannot_be_mended_is_refused_once(make: Make) -> None:
    outcome, engine, _ = make(
        {"question": "It?", "feedback": "Name it.", "rewrite": "They?"}, bad=lambda name, inputs: name == "independent"
    )
    assert outcome.draft is None
    assert reasons(outcome) == [("judge", "not independent")]
    assert engine.steps.count("rewrite") == 1


@pytest.mark.parametrize(
    ("script", "step", "reason"),
    [
        ({"answer": "not stated"}, "answer", "not stated"),
        ({"answer": ""}, "answer", "not stated"),
        ({"answer": "Sandgate"}, "answer", "another answer than the one meant"),
        ({"question": ""}, "answer", "another answer than the one meant"),
    ],
)
def test_the_generator_must_find_the_answer_that_was_meant(make: Make, script: Script, step: str, reason: str) -> None:
    outcome, _, _ = make({"answer": "Sandgate", **script})
    assert outcome.draft is None
    assert reasons(outcome) == [(step, reason)]


def test_a_question_about_another_part_of_the_fact_keeps_the_answer_that_was_found(make: Make) -> None:
    script = {"question": "What did the ferry strike on 22 February 2009?", "answer": "Grey Widow"}
    outcome, _, seen = make(script)
    assert outcome.draft is not None
    assert outcome.draft.answer == "Grey Widow"
    assert next(step for step in seen if step.step == "answer").output["meant"] == "22 February 2009"


def test_an_unsupported_answer_and_a_lost_source_are_refused(make: Make) -> None:
    assert reasons(make({}, bad=lambda name, inputs: name == "grounded")[0]) == [("grounding", "answer not supported")]
    assert reasons(make({}, rank=6)[0]) == [("retrieval", "source chunk too far")]
    assert reasons(make({}, rank=None)[0]) == [("retrieval", "source chunk not found")]
    recorded = make({}, rank=None, max_rank=0)[0]
    assert recorded.draft is not None
    assert recorded.draft.retrieval.rank is None


def test_reasoning_puts_a_description_in_place_of_a_name(make: Make, parser: Parser) -> None:
    seed = "On what date did the Henn Lady strike a rock?"
    script: Script = {"question": seed, "reasoning": "ferry", "compress": "x" * 400}
    outcome, engine, _ = make(script, "reasoning", candidates=4, parse=parser)
    assert outcome.draft is not None
    assert outcome.draft.evolution == "reasoning"
    assert outcome.draft.question == "On what date did the ferry that carries 36 cars strike a rock?"
    assert outcome.draft.metadata["seed_question"] == seed
    assert outcome.fallback is not None
    assert (outcome.fallback.question, outcome.fallback.evolution) == (seed, "simple")
    assert "reasoning" in engine.steps


def test_a_kind_that_the_sentence_tells_is_not_asked_for(make: Make, parser: Parser) -> None:
    outcome, engine, _ = make({}, "reasoning", candidates=4, parse=parser)
    assert outcome.draft is not None
    assert outcome.draft.question == "On what date did the Henn Lady strike the unlit rock south of Sandgate?"
    assert "reasoning" not in engine.steps


def test_a_condition_that_syntax_gives_is_not_asked_for(make: Make, parser: Parser) -> None:
    outcome, engine, _ = make({}, "conditional", candidates=4, parse=parser)
    assert outcome.draft is not None
    assert outcome.draft.question == f"{GOOD[:-1]} while avoiding a small fishing boat?"
    assert "conditional" not in engine.steps


def test_an_evolution_keeps_the_answer_of_its_seed(make: Make) -> None:
    seed = "What did the ferry strike on 22 February 2009?"
    script: Script = {
        "question": seed,
        "answer": ["Grey Widow", "small fishing boat"],
        "conditional": f"While avoiding a small fishing boat, {seed}",
        "compress": "x" * 400,
    }
    outcome, _, _ = make(script, "conditional")
    assert outcome.draft is None
    assert [reject.reason for reject in outcome.rejects] == [
        "another answer than the one meant: 'small fishing boat', not 'Grey Widow'"
    ]
    assert outcome.fallback is not None
    assert outcome.fallback.answer == "Grey Widow"


def test_a_kind_that_the_passage_does_not_speak_of_is_a_guess(make: Make, parser: Parser) -> None:
    script: Script = {"question": "On what date did the Henn Lady strike a rock?", "reasoning": "journalist"}
    outcome, _, _ = make(script, "reasoning", candidates=4, parse=parser)
    assert reasons(outcome)[-1] == ("reasoning", "'journalist' is no kind of 'Henn Lady'")


def test_a_failed_evolution_leaves_the_seed_as_fallback(make: Make, parser: Parser) -> None:
    unchanged, _, _ = make({"conditional": GOOD}, "conditional", bad=lambda name, inputs: name == "same")
    assert unchanged.draft is None
    assert unchanged.fallback is not None
    assert reasons(unchanged) == [("same", "the evolution changed nothing")]
    script: Script = {"question": "On what date did the Henn Lady strike a rock?", "reasoning": "36"}
    nameless, _, _ = make(script, "reasoning", candidates=4, parse=parser)
    assert nameless.draft is None
    assert reasons(nameless)[-1] == ("reasoning", "'36' is no kind of 'Henn Lady'")
    assert not make({}, "reasoning")[0].exhausted


def test_an_evolution_is_judged_and_the_shorter_form_taken_only_if_it_passes(make: Make) -> None:
    long = (
        "While avoiding a small fishing boat south of Sandgate, on what date did the Henn Lady strike the rock "
        "called the Grey Widow?"
    )
    short = "While avoiding a boat, when did the Henn Lady strike the Grey Widow?"
    taken, _, _ = make({"conditional": long, "compress": short}, "conditional")
    assert taken.draft is not None
    assert taken.draft.question == short
    kept, _, _ = make(
        {"conditional": long, "compress": short},
        "conditional",
        bad=lambda name, inputs: name == "clear" and inputs["question"] == short,
    )
    assert kept.draft is not None
    assert kept.draft.question == long


def test_a_shorter_form_that_asks_something_else_is_not_taken(make: Make) -> None:
    long = (
        "While avoiding a small fishing boat south of Sandgate, on what date did the Henn Lady strike the rock "
        "called the Grey Widow?"
    )
    outcome, _, _ = make({"conditional": long, "compress": "When did the boat strike the Henn Lady?"}, "conditional")
    assert outcome.draft is not None
    assert outcome.draft.question == long


def test_a_later_round_asks_about_other_facts_until_none_is_left(make: Make) -> None:
    first, _, _ = make({"answer": "x"}, candidates=1, round=0)
    later, engine, _ = make({}, candidates=1, round=9)
    assert not first.exhausted
    assert later.exhausted
    assert engine.steps == ["keyphrases"]
    assert reasons(later) == [("keyphrases", "no further sentence can carry a simple question")]


@pytest.mark.parametrize("rubbish", ["", "\n", "the the " * 50, "\x00", "{}", "???", "桥"])
def test_rubbish_from_every_step_ends_in_rejects_and_never_in_an_error(make: Make, rubbish: str) -> None:
    for evolution in ("simple", "reasoning", "conditional"):
        outcome, _, _ = make({step: rubbish for step in STEPS.values()}, evolution, candidates=3)  # type: ignore[arg-type]
        assert outcome.draft is None
        assert outcome.rejects


def test_every_step_is_a_bare_predictor_of_the_program(demos: Demos) -> None:
    for name in RECIPES:
        recipe = build_recipe(
            name,
            critics={},
            retriever=FixedRetriever(1),
            languages=Languages(LANGUAGES),
            candidates=1,
            max_rank=5,
            demos=demos,
        )
        names = {step for step, _ in recipe.named_predictors()}  # type: ignore[attr-defined]
        assert {"chunk", "judge", "same", "grounding", *STEPS.values()} == names
        assert recipe.dump_state()["question"]["demos"]  # type: ignore[attr-defined]


def test_a_question_that_holds_its_answer_gives_way_to_the_words_of_the_sentence(make: Make, parser: Parser) -> None:
    script: Script = {"question": "Who was the Henn Lady?", "answer": "the Henn Lady"}
    outcome, _, _ = make(script, parse=parser)
    assert outcome.draft is not None
    assert outcome.draft.question == "Who struck the Grey Widow on 22 February 2009?"


def test_a_question_in_the_words_of_its_sentence_is_not_mended(make: Make, parser: Parser) -> None:
    outcome, engine, _ = make({}, bad=lambda name, inputs: name == "clear", parse=parser)
    assert outcome.draft is None
    assert engine.steps == ["question"]


def test_the_first_round_asks_only_what_is_easy(make: Make, parser: Parser) -> None:
    first, engine, _ = make({}, parse=Parsing(parser("It rained.", "en")))
    assert (first.draft, engine.steps) == (None, [])
    assert reasons(first) == [("keyphrases", "for a later round")]
    assert not first.exhausted
    later, engine, _ = make({}, round=3, parse=Parsing(parser("It rained.", "en")))
    assert engine.steps == ["keyphrases", "question", "answer"]
    assert later.draft is not None


def test_only_what_is_easy_is_asked_where_the_language_can_be_parsed(make: Make, parser: Parser) -> None:
    easy, _, _ = make({"answer": "the Henn Lady"}, parse=parser, only_easy=True)
    assert easy.draft is not None
    hard, engine, _ = make({}, parse=Parsing(parser("It rained.", "en")), only_easy=True)
    assert (hard.draft, engine.steps, hard.exhausted) == (None, [], True)
    unread, engine, _ = make({}, round=3, parse=Parsing(None), only_easy=True)
    assert unread.draft is not None
    assert engine.steps == ["keyphrases", "question", "answer"]


@pytest.mark.parametrize(
    ("found", "accepted"),
    [
        ("Tidepool", True),  # the name says nothing against what the sentence says
        ("Tidepool is a small job queue", True),  # the first words of the answer, after those of the question
        ("the weather service", False),
    ],
)
def test_what_a_thing_is_stands_unless_something_else_is_found(
    make: Make, found: str, accepted: bool, parser: Parser
) -> None:
    text = "Tidepool is a small job queue for Python that keeps its jobs in a single file."
    script: Script = {"question": "What is Tidepool?", "answer": found}
    outcome, _, _ = make(script, parse=parser, text=text)
    assert (outcome.draft is not None) is accepted
    if outcome.draft is not None:
        assert outcome.draft.answer == "a small job queue for Python that keeps its jobs in a single file"
