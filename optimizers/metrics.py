"""What a step's output is worth: one metric for each step, from 0 (useless) to 1.

Generators are measured by what the critic and the retrieval say of what they wrote, and by its form; answers by the
label where there is one. Deciding steps are measured by the probability that they give to the truth. Every metric
returns a sentence beside its value that names the rule which was broken and the words that broke it.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import dspy

from optimizers.diagnosis import diagnose
from programs.deciding import OVERALL, Decision
from programs.evidence import agreement, kind_agrees, lost_words
from programs.linking import Link, describe
from programs.steps.answer import ground_truth, is_stated, tidy_answer
from programs.steps.question import seed_question, tidy_question
from programs.words import content_words, has_words

_STRAY = 0.5  # share left to what is well formed but does not stand in the passage, or does not lead where it should
_IS_QUESTION = re.compile(r"\w[^?]*\?$")
_PHRASES = range(3, 6)


class Scored(NamedTuple):
    """The value of an output and what to do better; ``feedback`` is empty for a perfect one."""

    value: float
    feedback: str


class Judges(NamedTuple):
    """Who is asked about an output.

    Attributes:
        judge: decides on a question, given its passage and itself.
        rank: the rank of a passage in a search for the question among all passages; None where it is not found.
        answer: what the model that is compiled for finds, given topic, passage and question.
    """

    judge: Callable[[str, str], Decision]
    rank: Callable[[str, str], int | None]
    answer: Callable[[str, str, str], str]


Metric = Callable[[dspy.Example, Any, Judges], Scored]


def keyphrases(example: dspy.Example, output: Any, judges: Judges) -> Scored:
    """Return the share of phrases that stand in the passage word for word, once each, less one third for each of
    three that are lacking."""
    del judges
    phrases = [str(phrase) for phrase in output.keyphrases]
    distinct = {phrase.casefold(): phrase for phrase in phrases}
    stated = [phrase for phrase in distinct.values() if phrase and phrase in example.passage]
    if not phrases:
        return Scored(0.0, "It names no phrase.")
    value = len(stated) / len(phrases) * min(1.0, len(stated) / _PHRASES.start)
    lost = [phrase for phrase in distinct.values() if phrase not in stated]
    told = [f"Not in the passage word for word: {'; '.join(lost)}."] if lost else []
    if len(distinct) < len(phrases):
        told.append("It names a phrase twice.")
    if len(phrases) not in _PHRASES:
        told.append(f"It names {len(phrases)} phrases; three to five are wanted.")
    return Scored(value, " ".join(told))


def question(example: dspy.Example, output: Any, judges: Judges) -> Scored:
    """Return the critic's probability that the question is good, divided by the rank of its source chunk.

    0 for what is no question, gives its answer away or asks for another kind of thing than the answer is; halved if
    the model, asked it, does not find the answer that was meant, which a run would refuse.
    """
    return _with_answer(example, seed_question(output.question, example.focus), judges)


def rewrite(example: dspy.Example, output: Any, judges: Judges) -> Scored:
    """Return the same as :func:`question`; 0 for a question that was not changed."""
    better = seed_question(output.better_question, example.focus)
    if better == tidy_question(example.question):
        return Scored(0.0, "It repeats the question that was refused.")
    return _with_answer(example, better, judges)


def conditional(example: dspy.Example, output: Any, judges: Judges) -> Scored:
    """Return the critic's probability that the question is good; 0 if it lost the condition or the seed question."""
    written = tidy_question(output.conditional_question)
    for what, text in (("condition", example.condition), ("question", example.question)):
        lost = lost_words(text, written, example.language)
        if lost:
            return Scored(0.0, f"It lost words of the {what}: {', '.join(lost)}.")
    return _question(example, written, judges)


def compress(example: dspy.Example, output: Any, judges: Judges) -> Scored:
    """Return the critic's probability that the question is good; 0 if it is no shorter or lost what it asks."""
    written = tidy_question(output.short_question)
    if len(written) >= len(example.question):
        return Scored(0.0, "It is no shorter than the question that was given.")
    if lost := lost_words(example.question, written, example.language):
        return Scored(0.0, f"It lost what the question asks: {', '.join(lost)}.")
    return _question(example, written, judges)


def reasoning(example: dspy.Example, output: Any, judges: Judges) -> Scored:
    """Return 1 for a usable kind of thing that the passage names, 0.5 for one that it does not, 0 for none.

    A kind is usable if a description can be made of it: one to three words in lower case.
    """
    del judges
    kind = str(output.kind)
    if describe(f"What is {example.name}?", Link(example.name, example.fact, "stands there"), kind) is None:
        return Scored(0.0, f"{kind!r} is no kind of thing in one to three words.")
    named = set(content_words(kind, example.language)) & set(content_words(example.passage, example.language))
    return Scored(1.0, "") if named else Scored(_STRAY, f"The passage does not speak of any {kind}.")


def answer(example: dspy.Example, output: Any, judges: Judges) -> Scored:
    """Return the token F1 with the label, halved if the words do not stand in the passage.

    Where the label says that the passage does not answer the question: 1 for saying so, 0 for an answer.
    """
    del judges
    found = tidy_answer(output.answer, example.question)
    if not is_stated(example.answer):
        stated = is_stated(found)
        return Scored(0.0, f"The passage does not say it, yet the answer is {found!r}.") if stated else Scored(1.0, "")
    if not is_stated(found):
        return Scored(0.0, f"The passage answers it: {example.answer!r}.")
    value, told = agreement(found, example.answer), ""
    if value < 1:
        told = f"The answer is {example.answer!r}, not {found!r}."
    if not has_words(example.passage, found):
        value, told = value * _STRAY, f"{told} Copy the words of the passage.".strip()
    return Scored(value, told)


def decision(example: dspy.Example, output: Any, judges: Judges) -> Scored:
    """Return the mean of two things: 1 for the right verdict, and the probability that was given to the truth."""
    del judges
    value = decision_value(bool(example.fit), bool(output.fit), float(output.probability))
    told = "" if value >= 0.5 else f"The label is {'good' if example.fit else 'bad'}: {example.explanation}"
    return Scored(value, told)


def decision_value(good: bool, verdict: bool, probability: float) -> float:
    """Return what a decision on a labelled row is worth; see :func:`decision`. A right verdict is never below 0.5."""
    return ((verdict is good) + (probability if good else 1 - probability)) / 2


# Steps whose metric asks the model once more for each question that is any good.
ANSWERED = frozenset({"question", "rewrite"})

METRICS: Mapping[str, Metric] = {
    "keyphrases": keyphrases,
    "question": question,
    "reasoning": reasoning,
    "conditional": conditional,
    "compress": compress,
    "rewrite": rewrite,
    "answer": answer,
    "chunk": decision,
    "judge": decision,
}


def _with_answer(example: dspy.Example, written: str, judges: Judges) -> Scored:
    """Return the worth of a question that was written for an answer."""
    if not _IS_QUESTION.search(written):
        return _question(example, written, judges)
    if has_words(written, example.answer):
        return Scored(0.0, f"It gives its answer away: {example.answer!r}.")
    if not kind_agrees(written, example.answer):
        return Scored(0.0, f"It asks for another kind of thing than {example.answer!r}.")
    scored = _question(example, written, judges)
    if not scored.value:
        return scored
    found = tidy_answer(judges.answer(example.topic, example.passage, written), written)
    if ground_truth(written, found, example.focus, example.passage, example.language) is not None:
        return scored
    told = f"Asked it, the model answers {found!r}, where {example.answer!r} was meant."
    return Scored(scored.value * _STRAY, f"{told} {scored.feedback}".strip())


def _question(example: dspy.Example, written: str, judges: Judges) -> Scored:
    if not _IS_QUESTION.search(written):
        return Scored(0.0, f"{written[:60]!r} is no question." if written else "It wrote nothing.")
    decision = judges.judge(example.passage, written)
    value = decision.probabilities.get(OVERALL, decision.probability)
    rank = judges.rank(written, example.passage)
    told = diagnose(written, example.passage, decision)
    if rank != 1:
        place = "not among the first" if rank is None else f"number {rank}"
        told.append(f"Searching for it finds its passage as {place}: name what only this passage speaks of.")
    return Scored(0.0 if rank is None else value / rank, " ".join(told))
