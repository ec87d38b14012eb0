"""What written questions and decisions are worth, whichever step they come from.

Questions are measured by what the critic and the retrieval say of them, and by their form; decisions by the probability
that they give to the truth.
"""

import re
from typing import Any

import dspy

from optimizers.diagnosis import diagnose
from optimizers.steps.base import Judges, Scored
from programs.deciding import OVERALL
from programs.evidence import kind_agrees
from programs.steps.answer import ground_truth, tidy_answer
from programs.text import has_words

STRAY = 0.5  # share left to what is well formed but does not stand in the passage, or does not lead where it should
_IS_QUESTION = re.compile(r"\w[^?]*\?$")


def question_worth(example: dspy.Example, written: str, judges: Judges) -> Scored:
    """Return the critic's probability that a question is good, divided by the rank of its source chunk."""
    if not _IS_QUESTION.search(written):
        return Scored(0.0, f"{written[:60]!r} is no question." if written else "It wrote nothing.")
    decision = judges.judge(example.passage, written)
    value = decision.probabilities.get(OVERALL, decision.probability)
    rank = judges.rank(written, example.passage)
    told = diagnose(written, example.passage, decision, judges.languages)
    if rank != 1:
        place = "not among the first" if rank is None else f"number {rank}"
        told.append(f"Searching for it finds its passage as {place}: name what only this passage speaks of.")
    return Scored(0.0 if rank is None else value / rank, " ".join(told))


def meant_question_worth(example: dspy.Example, written: str, judges: Judges) -> Scored:
    """Return the same as :func:`question_worth` for a question that was written for an answer.

    0 for what gives its answer away or asks for another kind of thing than the answer is; halved if the model, asked
    it, does not find the answer that was meant, which a run would refuse.
    """
    if not _IS_QUESTION.search(written):
        return question_worth(example, written, judges)
    if has_words(written, example.answer):
        return Scored(0.0, f"It gives its answer away: {example.answer!r}.")
    language = judges.language_of(example)
    if not kind_agrees(written, example.answer, language):
        return Scored(0.0, f"It asks for another kind of thing than {example.answer!r}.")
    scored = question_worth(example, written, judges)
    if not scored.value:
        return scored
    found = tidy_answer(judges.answer(example.topic, example.passage, written), written)
    if ground_truth(written, found, example.focus, example.passage, language) is not None:
        return scored
    told = f"Asked it, the model answers {found!r}, where {example.answer!r} was meant."
    return Scored(scored.value * STRAY, f"{told} {scored.feedback}".strip())


def decision_worth(example: dspy.Example, output: Any, judges: Judges) -> Scored:
    """Return the mean of two things: 1 for the right verdict, and the probability that was given to the truth."""
    del judges
    value = decision_value(bool(example.fit), bool(output.fit), float(output.probability))
    told = "" if value >= 0.5 else f"The label is {'good' if example.fit else 'bad'}: {example.explanation}"
    return Scored(value, told)


def decision_value(good: bool, verdict: bool, probability: float) -> float:
    """Return what a decision on a labelled row is worth; see :func:`decision_worth`.

    A right verdict is never below 0.5.
    """
    return ((verdict is good) + (probability if good else 1 - probability)) / 2
