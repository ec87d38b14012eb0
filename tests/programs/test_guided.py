"""Guided writing, with given facts, a scripted model and judges."""

import math
from collections.abc import Callable

import dspy
import pytest
from dspy.lm15 import Request, TokenLogprob, TopLogprob
from refusal import refuses
from scripted import ScriptedEngine, response, scripted_lm

from groundset.programs.english import Fact
from groundset.programs.errors import ModelError
from groundset.programs.guided import Guided, Sound, tidy_answer

PASSAGE = (
    "The Lowen harbour bridge was opened in 1931 after nine years of work. The engineer Maria Kolb"
    " designed the bridge. It replaced a ferry that had carried up to 400 people a day."
)
FIRST, SECOND, THIRD = PASSAGE.split(". ")
YEAR = Fact(f"{FIRST}.", "1931", "In which year was the Lowen harbour bridge opened")
WHO = Fact(f"{SECOND}.", "Maria Kolb", "Who designed the Lowen harbour bridge")
WHAT = Fact(
    THIRD, "a ferry that had carried up to 400 people a day", "What did it replace", defines=True
)


def judge_of(found):
    """Return a judge that gives the questions with some words a probability."""

    def judge(*, question, **_):
        probability = next((value for part, value in found.items() if part in question), 0.9)
        fit = probability >= 0.5
        return dspy.Prediction(
            clear=fit, fit=fit, reason="" if fit else "not clear", probability=probability
        )

    return judge


def grounding_of(*refused):
    """Return a judge of answers that refuses some."""

    def grounding(*, answer, **_):
        fit = answer not in refused
        return dspy.Prediction(
            grounded=fit, fit=fit, reason="answer not supported", probability=0.8 if fit else 0.1
        )

    return grounding


def by_answer(prompt):
    """Complete the opening of the question."""
    return prompt.rpartition("Opening: ")[2].partition("\n")[0] + "?"


def find(prompt):
    """Answer a question as the passage does."""
    question = prompt.rpartition("Question: ")[2]
    return next(fact.answer for fact in (YEAR, WHO, WHAT) if fact.opening in question)


@pytest.fixture
def ask() -> Callable[..., tuple[dspy.Prediction, ScriptedEngine]]:
    def asked(*facts, judge=None, **options):
        answers = {"fact": by_answer, "answer": find} | options.pop("answers", {})
        program = Guided(
            lambda sentences: [], judge_of(judge or {}), options.pop("grounding", grounding_of())
        )
        program.facts = lambda passage, topic: list(facts)
        program.sound.config = options.pop("sound", {})
        lm, engine = scripted_lm(answers)
        with dspy.context(lm=lm):
            return (
                program(options.pop("passage", PASSAGE), "Lowen harbour bridge", **options),
                engine,
            )

    return asked


def test_question_with_its_answer(ask):
    made, engine = ask(YEAR)
    assert made.question == "In which year was the Lowen harbour bridge opened?"
    assert made.answer == "1931"
    assert made.evolution == "simple"
    assert made.kind == "fact"
    assert made.needed == [0]
    assert made.alternatives == []
    assert made.evidence == [f"{FIRST}."]
    assert made.probability == 0.8, "that of the weakest step"
    assert made.metadata == {"fact": f"{FIRST}."}
    assert made.rejects == []
    assert made.exhausted is True
    assert engine.steps() == ["fact", "answer"]
    _, (_, request), _ = engine.requests
    assert (
        request.messages[-1].parts[0].text
        == f"Topic: Lowen harbour bridge\nFact: {FIRST}.\nAnswer: 1931\n"
        "Opening: In which year was the Lowen harbour bridge opened"
    )
    assert len(request.messages) == 13, "all demos are shown"
    assert request.config.max_tokens == 56
    assert request.config.stop == ("\n",)
    assert request.config.temperature == 0.0


def test_best_of_the_candidates_is_kept(ask):
    made, engine = ask(YEAR, WHO, WHAT, judge={"year": 0.6, "Who": 0.95})
    assert made.answer == "Maria Kolb"
    assert not made.exhausted
    assert engine.steps() == ["fact", "fact", "answer"], "the third is not asked about"
    made, _ = ask(YEAR, WHO, WHAT, asked=("Who designed the Lowen harbour bridge?",))
    assert made.answer == "1931"
    made, engine = ask(YEAR, WHO, judge={"Who": 0.95}, candidates=1)
    assert made.answer == "1931"


def test_refused_ones_are_told_and_the_next_are_tried(ask):
    made, _ = ask(YEAR, WHO, WHAT, judge={"year": 0.1, "Who": 0.2})
    assert made.answer == WHAT.answer
    assert made.kind == "definition"
    assert made.exhausted is True
    assert [(each.step, each.reason, each.probability) for each in made.rejects] == [
        ("judge", "not clear", 0.1),
        ("judge", "not clear", 0.2),
    ]
    assert made.rejects[0].question == "In which year was the Lowen harbour bridge opened?"
    made, _ = ask(YEAR, WHO, judge={"": 0.1})
    assert made.question == ""
    assert made.exhausted is True
    assert len(made.rejects) == 2


def test_answers_are_checked(ask):
    made, _ = ask(YEAR, WHO, answers={"answer": ["Not stated.", "Jakob Reuss"]})
    assert [(each.step, each.reason) for each in made.rejects] == [
        ("answer", "not found in the passage: '1931' was expected"),
        ("answer", "another answer than expected: 'Jakob Reuss', not 'Maria Kolb'"),
    ]
    made, _ = ask(WHO, grounding=grounding_of("Maria Kolb"))
    assert [(each.step, each.reason, each.probability) for each in made.rejects] == [
        ("grounding", "answer not supported: 'Maria Kolb'", 0.1)
    ]
    assert ask(WHO, grounding=None)[0].probability == 0.9


@pytest.mark.parametrize(
    ("fact", "found", "kept"),
    [
        (WHO, "The engineer Maria Kolb", "Maria Kolb"),
        (WHO, "Kolb", "Maria Kolb"),
        (WHAT, "a ferry", ""),
        (WHAT, "the bridge", ""),
    ],
)
def test_the_answer_of_the_fact_is_kept_where_the_found_one_confirms_it(ask, fact, found, kept):
    assert ask(fact, answers={"answer": found})[0].answer == kept


def test_definition_is_kept_where_the_model_names_the_thing(ask):
    fact = WHAT._replace(opening="What is the Lowen ferry")
    assert ask(fact, answers={"answer": "the Lowen ferry"})[0].answer == fact.answer


def test_questions_that_give_the_answer_away(ask):
    made, _ = ask(WHO, answers={"fact": "Did Maria Kolb design the bridge?"})
    assert made.question == "Who designed the Lowen harbour bridge?"
    made, _ = ask(
        YEAR, answers={"fact": "In which year was the Lowen harbour bridge opened in 1931? Or not?"}
    )
    assert made.question == "In which year was the Lowen harbour bridge opened?"


def test_passages_that_cannot_be_asked_about(ask):
    made, engine = ask(YEAR, passage="Das Schloss wurde 1754 von der Familie Aumann verkauft.")
    assert made.exhausted is True
    assert made.rejects[0].step == "fact"
    assert engine.steps() == []
    assert "another language" in made.rejects[0].reason
    made, _ = ask()
    assert [each.reason for each in made.rejects] == ["no sentence states an easy fact"]


@pytest.mark.parametrize(
    ("text", "question", "tidy"),
    [
        ("**Maria\nKolb**", "Who?", "Maria Kolb"),
        ("Tidepool is a job queue", "What is Tidepool?", "a job queue"),
        ("J. M. Kolb", "Who?", "J. M. Kolb"),
    ],
)
def test_tidy_answer(text, question, tidy):
    assert tidy_answer(text, question) == tidy


class DecidingEngine:
    """Answers with one token of given log-probabilities."""

    def __init__(self, **top):
        self.top, self.requests = top, list[Request]()

    def complete(self, request):
        self.requests.append(request)
        top = tuple(TopLogprob(token, math.log(share)) for token, share in self.top.items())
        logprobs = (TokenLogprob(top[0].token, top[0].logprob, top=top),) if top else None
        return response("yes", logprobs=logprobs)


@pytest.mark.parametrize(
    ("top", "probability"),
    [
        ({"yes": 0.6, "no": 0.2, "maybe": 0.1}, 0.75),
        ({"Yes": 0.3, " no": 0.3}, 0.5),
        ({"ye": 0.2, "No": 0.6}, 0.25),
        ({"perhaps": 1.0}, 0.5),
    ],
)
def test_sound_is_read_by_the_next_token(top, probability):
    engine = DecidingEngine(**top)
    sound = Sound()
    sound.config = {"adapter": "sound"}
    inputs = {"topic": "Lowen", "before": "", "fact": FIRST, "question": "When?", "answer": "1931"}
    with dspy.context(lm=dspy.LM("local/deciding", engine=engine, cache=False)):
        assert sound(**inputs).probability == pytest.approx(probability)
    (request,) = engine.requests
    assert request.system == "Decide whether question and answer are sound."
    assert request.messages[0].text == (  # what the shipped weights were trained on
        f"Topic: Lowen\nFact: {FIRST}\nQuestion: When?\nAnswer: 1931\n\nAre they sound?\nyes: Clear"
        " to a stranger, and answered right and whole.\nno: Not so.\nAnswer with one of: yes, no."
    )
    assert request.config.extensions == {"adapter": "sound"}
    assert request.config.max_tokens == 1
    lm = dspy.LM("local/deciding", engine=DecidingEngine(), cache=False)
    with dspy.context(lm=lm), refuses("returns no log-probabilities", ModelError):
        sound(**inputs)


def test_sound_weighs_with_the_judge(ask, monkeypatch):
    seen = []

    def forward(self, **inputs):
        seen.append(inputs)
        return dspy.Prediction(sound=False, probability=0.1)

    monkeypatch.setattr(Sound, "forward", forward)
    made, engine = ask(WHO)
    assert made.answer == "Maria Kolb"
    assert seen == [], "without weights it is skipped"
    weights = {"adapter": "sound"}
    made, engine = ask(WHO, sound=weights)
    assert engine.steps() == ["fact"]
    assert [(each.step, each.reason, each.probability) for each in made.rejects] == [
        ("sound", "question and answer are not sound", 0.5)
    ]
    assert seen[0]["before"] == f"{FIRST}."
    assert ask(WHO, sound=weights, judge={"": 0.99})[0].answer == "Maria Kolb"


def test_a_question_that_the_passage_states_is_asked_without_a_call(ask):
    answer = "Ab 40 Euro ist sie frei:\n\n- in Lowen\n- in Tarn."
    passage = f"## Was kostet die Lieferung?\n\n{answer}"
    made, engine = ask(passage=passage)
    assert made.question == "Was kostet die Lieferung?"
    assert made.answer == answer
    assert made.evidence == [answer]
    assert made.kind == "stated"
    assert not engine.requests
    again, _ = ask(passage=passage, asked=["Was kostet die Lieferung ?"])  # as French sets it off
    assert not again.question
