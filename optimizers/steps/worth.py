"""Scores of generated questions and of decisions, shared by the metrics of steps.

Questions are scored by the checks of a run: their form, the critic's verdict, the rank of their source and the model's
answer. Decisions are scored by their verdict and by the Brier score of their probability.
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
    """Return the problems of a question as sentences, the critic's objection last; none if the critic accepts it."""
    if decision.good:
        return []
    language, asked_in = languages.of(passage), languages.of(question)
    features = question_features(question, passage, language, asked_in)
    problems = []
    if reference := language.context_reference.search(question) or asked_in.context_reference.search(question):
        problems.append(f"It points at the text: {reference.group()!r}.")
    if language.loose_pronouns(question):
        problems.append("It has a pronoun without a name.")
    if features["generic"]:
        problems.append("It names nothing that tells it from other questions.")
    if features["ungrammatical"]:
        problems.append("Its verb is not well formed.")
    if features["several"]:
        problems.append("It asks more than one thing.")
    if features["question_word_late"] and not features["opens_with_question_word"]:
        problems.append(f"It does not open with a question word: {' '.join(question.split()[:4])!r}.")
    if features["other_language"]:
        problems.append("It is not in the language of the passage.")
    if absent := numbers(question) - numbers(passage):
        problems.append(f"The passage does not have the numbers {', '.join(sorted(absent))}.")
    stated = set(language.content_words(passage))
    foreign = [
        word
        for word in dict.fromkeys(re.findall(r"[^\W\d_][\w’'-]+", question))
        if not NUMBER.match(word) and not set(language.content_words(word)) <= stated
    ]
    if len(foreign) > 2:
        problems.append(f"The passage does not speak of {', '.join(foreign)}.")
    return [*problems, _GENERAL[decision.weakest]] if decision.weakest in _GENERAL else problems


STRAY = 0.5  # factor for well-formed outputs that are not in the passage
_LAST_RANK = 5  # default limit of the recipes
_NEARLY = 0.25  # highest score of a rejected question, so that candidates differ even if few questions are accepted
_IS_QUESTION = re.compile(r"\w[^?]*\?$")


def score_question(example: dspy.Example, written: str, judges: Judges) -> Scored:
    """Return 0.5 to 1 for a question that a run accepts, else up to 0.25; both grow with the critic's probability.

    A question scores 0 if its source is not among the first five search results.
    """
    return _score_question(example, written, judges, lambda: "")


def _score_question(example: dspy.Example, written: str, judges: Judges, more_problem: Callable[[], str]) -> Scored:
    """Score a question; ``more_problem`` returns a further reason for rejection once the critic accepts it."""
    if not _IS_QUESTION.search(written):
        return Scored(0.0, f"{written[:60]!r} is no question." if written else "It wrote nothing.")
    decision = judges.judge(example.passage, written)
    rank = judges.rank(written, example.passage)
    problems = diagnose(written, example.passage, decision, judges.languages)
    if rank != 1:
        found_as = "not among the first" if rank is None else f"number {rank}"
        problems.append(f"Searching for it finds its passage as {found_as}: name what only this passage speaks of.")
    if rank is None or rank > _LAST_RANK:
        return Scored(0.0, " ".join(problems))
    more = more_problem() if decision.good else ""
    accepted = decision.good and not more
    value = (1 + decision.probability) / 2 if accepted else decision.probability * _NEARLY
    return Scored(value, " ".join([*([more] if more else []), *problems]))


def score_verdict(decision: Decision, problem: str = "") -> Scored:
    """Return 0.5 to 1 for a question that the critic accepts, else up to 0.25; a ``problem`` counts as a rejection."""
    if decision.good and not problem:
        return Scored((1 + decision.probability) / 2, "")
    return Scored(decision.probability * _NEARLY, problem or f"The critic finds it not {decision.weakest}.")


def score_question_for_answer(example: dspy.Example, written: str, judges: Judges) -> Scored:
    """Score a question with a given answer like :func:`score_question`.

    It is 0 if the question contains its answer or its question word does not fit the answer. As in a run, the question
    is also rejected if the model does not find the given answer.
    """
    if not _IS_QUESTION.search(written):
        return score_question(example, written, judges)
    if has_words(written, example.answer):
        return Scored(0.0, f"It gives its answer away: {example.answer!r}.")
    language = judges.language_of(example)
    if not kind_agrees(written, example.answer, language):
        return Scored(0.0, f"It asks for another kind of thing than {example.answer!r}.")

    def wrong_answer() -> str:
        answer = tidy_answer(judges.answer(example.topic, example.passage, written), written)
        if ground_truth(written, answer, example.focus, example.passage, language) is not None:
            return ""
        return f"Asked it, the model answers {answer!r}, where {example.answer!r} was meant."

    return _score_question(example, written, judges, wrong_answer)


def score_decision(example: dspy.Example, output: Any, judges: Judges) -> Scored:
    """Return the mean of the verdict (1 if correct, else 0) and 1 minus the Brier score of the probability."""
    del judges
    value = decision_score(bool(example.fit), bool(output.fit), float(output.probability))
    feedback = (
        ""
        if bool(output.fit) is bool(example.fit)
        else f"The label is {'good' if example.fit else 'bad'}: {example.explanation}"
    )
    return Scored(value, feedback)


def decision_score(good: bool, verdict: bool, probability: float) -> float:
    """Return the score of a decision as :func:`score_decision` does.

    A correct verdict scores at least 0.5. The Brier score is proper, so overconfident probabilities do not pay.

    Source: G. W. Brier, Verification of forecasts expressed in terms of probability (1950).
    """
    return ((verdict is good) + 1 - (float(good) - probability) ** 2) / 2
