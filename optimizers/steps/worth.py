"""What written questions and decisions are worth, whichever step they come from.

Questions are measured as a run accepts them: by their form, by the critic's verdict, by the rank of their source and by
what the model answers. Decisions are measured by their verdict and by a proper score of their probability.
"""

import re
from collections.abc import Callable
from typing import Any

import dspy

from optimizers.steps.base import Judges, Scored
from programs.deciding import Decision
from programs.features import kind_agrees, question_features
from programs.languages.table import Languages
from programs.steps.answer import ground_truth, tidy_answer
from programs.text import NUMBER, has_words, numbers

_GENERAL = {
    "independent": "A reader without the passage cannot tell what it is about: name the subject.",
    "clear": "It is not one clear, well-formed question.",
    "answerable": "The passage does not answer it.",
}


def diagnose(question: str, passage: str, decision: Decision, languages: Languages) -> list[str]:
    """Return sentences that say what is wrong with a question, the critic's own objection last; none if it is good."""
    if decision.good:
        return []
    language, asked_in = languages.of(passage), languages.of(question)
    features = question_features(question, passage, language, asked_in)
    faults = []
    if reference := language.context_reference.search(question) or asked_in.context_reference.search(question):
        faults.append(f"It points at the text: {reference.group()!r}.")
    if language.loose_pronouns(question):
        faults.append("It has a pronoun without a name.")
    if features["generic"]:
        faults.append("It names nothing that tells it from other questions.")
    if features["ungrammatical"]:
        faults.append("Its verb is not well formed.")
    if features["several"]:
        faults.append("It asks more than one thing.")
    if features["question_word_late"] and not features["opens_with_question_word"]:
        faults.append(f"It does not open with a question word: {' '.join(question.split()[:4])!r}.")
    if features["other_language"]:
        faults.append("It is not in the language of the passage.")
    if absent := numbers(question) - numbers(passage):
        faults.append(f"The passage does not have the numbers {', '.join(sorted(absent))}.")
    stated = set(language.content_words(passage))
    foreign = [
        word
        for word in dict.fromkeys(re.findall(r"[^\W\d_][\w’'-]+", question))
        if not NUMBER.match(word) and not set(language.content_words(word)) <= stated
    ]
    if len(foreign) > 2:
        faults.append(f"The passage does not speak of {', '.join(foreign)}.")
    return [*faults, _GENERAL[decision.weakest]] if decision.weakest in _GENERAL else faults


STRAY = 0.5  # share left to what is well formed but does not stand in the passage
_LAST_RANK = 5  # as recipes refuse a question by default
NEARLY = 0.25  # most that a refused question is worth: candidates must be told apart where few are accepted
_IS_QUESTION = re.compile(r"\w[^?]*\?$")


def question_worth(example: dspy.Example, written: str, judges: Judges) -> Scored:
    """Return what a question is worth: 0.5 to 1 for one that a run accepts, less than 0.25 for another.

    Within both it grows with the critic's probability. 0 for one whose source is not among the first five that a search
    finds.
    """
    return _question_worth(example, written, judges, lambda: "")


def _question_worth(example: dspy.Example, written: str, judges: Judges, fault: Callable[[], str]) -> Scored:
    """Return the worth of a question; ``fault`` says what else a run refuses it for, once the critic lets it pass."""
    if not _IS_QUESTION.search(written):
        return Scored(0.0, f"{written[:60]!r} is no question." if written else "It wrote nothing.")
    decision = judges.judge(example.passage, written)
    rank = judges.rank(written, example.passage)
    faults = diagnose(written, example.passage, decision, judges.languages)
    if rank != 1:
        place = "not among the first" if rank is None else f"number {rank}"
        faults.append(f"Searching for it finds its passage as {place}: name what only this passage speaks of.")
    if rank is None or rank > _LAST_RANK:
        return Scored(0.0, " ".join(faults))
    found = fault() if decision.good else ""
    accepted = decision.good and not found
    value = (1 + decision.probability) / 2 if accepted else decision.probability * NEARLY
    return Scored(value, " ".join([*([found] if found else []), *faults]))


def meant_question_worth(example: dspy.Example, written: str, judges: Judges) -> Scored:
    """Return the same as :func:`question_worth` for a question that was written for an answer.

    0 for what gives its answer away or asks for another kind of thing than the answer is; a run also refuses it if the
    model, asked it, does not find the answer that was meant.
    """
    if not _IS_QUESTION.search(written):
        return question_worth(example, written, judges)
    if has_words(written, example.answer):
        return Scored(0.0, f"It gives its answer away: {example.answer!r}.")
    language = judges.language_of(example)
    if not kind_agrees(written, example.answer, language):
        return Scored(0.0, f"It asks for another kind of thing than {example.answer!r}.")

    def fault() -> str:
        found = tidy_answer(judges.answer(example.topic, example.passage, written), written)
        if ground_truth(written, found, example.focus, example.passage, language) is not None:
            return ""
        return f"Asked it, the model answers {found!r}, where {example.answer!r} was meant."

    return _question_worth(example, written, judges, fault)


def decision_worth(example: dspy.Example, output: Any, judges: Judges) -> Scored:
    """Return the mean of two things: 1 for the right verdict, and 1 less the Brier score of the probability."""
    del judges
    value = decision_value(bool(example.fit), bool(output.fit), float(output.probability))
    feedback = (
        ""
        if bool(output.fit) is bool(example.fit)
        else f"The label is {'good' if example.fit else 'bad'}: {example.explanation}"
    )
    return Scored(value, feedback)


def decision_value(good: bool, verdict: bool, probability: float) -> float:
    """Return what a decision on a labelled row is worth; see :func:`decision_worth`.

    A right verdict is never below 0.5. The score is proper: nobody gains by a probability other than what is believed,
    as whoever says 0 or 1 gained where the probability itself was the score.

    Source: G. W. Brier, Verification of forecasts expressed in terms of probability (1950).
    """
    return ((verdict is good) + 1 - (float(good) - probability) ** 2) / 2
