"""The metrics of the steps ``unanswerable`` and ``follow_up``, and the weights of ``premise`` and ``resolve``."""

from types import SimpleNamespace

import dspy
import pytest

from optimizers.steps.base import Judges
from optimizers.steps.follow_up import metric as follow_up_metric
from optimizers.steps.unanswerable import metric as unanswerable_metric
from programs.deciding import Decision
from programs.languages import LANGUAGES
from programs.languages.table import Languages
from programs.steps import STEPS
from programs.types import Focus

PASSAGE = "The mill of Orsle was built in 1712 by Anna Brock. It ground rye until the flood of 1790."
QUESTION, ANSWER = "Who built the mill of Orsle?", "Anna Brock"
FULL, FOLLOW_UP = "Until when did the mill of Orsle grind rye?", "And until when did it grind rye?"
OPEN = "How many wheels does the mill of Orsle have?"


def judges(*, answerable: float = 0.9, clear: float = 0.9, answer: str = "the flood of 1790") -> Judges:
    figures = {"fit": min(answerable, clear), "independent": 0.9, "clear": clear, "answerable": answerable}
    decision = Decision(values={name: p >= 0.5 for name, p in figures.items()}, probabilities=figures, levels={})
    return Judges(lambda *_: decision, lambda *_: 1, lambda *_: answer, Languages(LANGUAGES))


def example(**fields: str) -> dspy.Example:
    known = {"topic": "Orsle", "passage": PASSAGE, "language": "en", "question": QUESTION, "answer": ANSWER}
    return dspy.Example(**{**known, **fields})


@pytest.mark.parametrize(("question", "answerable", "clear", "value", "feedback"), [
    (OPEN, 0.1, 0.9, 0.95, ""),
    (OPEN, 0.9, 0.9, 0.025, "The critic finds it not unanswerable."),
    (OPEN, 0.1, 0.2, 0.05, "The critic finds it not clear."),
    ("none", 0.1, 0.9, 0.0, "It wrote no question."),
])  # fmt: skip
def test_unanswerable(question: str, answerable: float, clear: float, value: float, feedback: str) -> None:
    scored = unanswerable_metric(
        example(), SimpleNamespace(question=question, missing="x"), judges(answerable=answerable, clear=clear)
    )
    assert scored.value == pytest.approx(value)
    assert scored.feedback == feedback


@pytest.mark.parametrize(("follow_up", "full", "feedback"), [
    (FOLLOW_UP, FULL, ""),
    (FULL, FULL, "The follow-up can be understood alone: it leaves nothing out that the first turn tells."),
    ("none", FULL, "It wrote no follow-up question."),
    (FOLLOW_UP, "", "No question with an answer was written."),
])  # fmt: skip
def test_follow_up(follow_up: str, full: str, feedback: str) -> None:
    output = SimpleNamespace(
        follow_up=follow_up,
        stand_alone_question=full,
        new_answer="the flood of 1790",
        evidence="It ground rye until the flood of 1790.",
    )
    scored = follow_up_metric(example(focus=Focus(sentence=PASSAGE, answer="")), output, judges())
    assert scored.feedback == feedback
    assert bool(scored.value) == (not feedback)


def weighed(step: str, **inputs: str) -> float:
    hand_set = STEPS[step].hand_set
    assert hand_set is not None
    [probability] = hand_set(inputs, lambda *_: 0.6, Languages(LANGUAGES)).values()
    return probability


def test_hand_set_weights_prefer_what_the_text_says() -> None:
    strange = "How many sails does the Ostry windmill of 1850 have?"
    assert weighed("premise", passage=PASSAGE, question=OPEN) > weighed("premise", passage=PASSAGE, question=strange)
    conversation = f"User: {QUESTION}\nAssistant: {ANSWER}\nUser: {FOLLOW_UP}"
    other = "What did the flood of the Ansa destroy?"
    same, different = (weighed("resolve", conversation=conversation, question=text) for text in (FULL, other))
    assert same > 0.5 > different
