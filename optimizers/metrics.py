"""Metrics of the steps and of whole programs, as DSPy's optimizers call them.

``metrics.judge(example, prediction)`` is a score from 0 to 1; with ``pred_name``, as GEPA calls it,
it comes with feedback. What was written is accepted if it is what the gold row has; about the rest
``metrics.ask.using(judge)`` lets a judge decide: a predictor of the step ``judge``, which should
not be the one that is compiled, nor a head that does not know the writer.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, NamedTuple, Self

import dspy
from dspy.utils.exceptions import AdapterParseError

from groundset.optimizers.labels import NOT_STATED
from groundset.programs.checks import (
    agree,
    is_none,
    language_fault,
    tidy_question,
    written_fault,
)
from groundset.programs.features import agreement
from groundset.programs.forms import PERSONA, UNANSWERABLE, refers_back, wording_fault
from groundset.programs.languages import LANGUAGES, language_of
from groundset.programs.outcome import RefusedError, verdict
from groundset.programs.recipe import Draft, Recipe
from groundset.programs.text import has_words, one_line
from groundset.programs.users import WANTED
from groundset.programs.words import Language

Judge = Callable[..., dspy.Prediction]
_GOOD_ENOUGH = 0.5  # score from which what was written may be a demo
# Most of a refused question, so that candidates differ even if few questions are accepted.
_NEARLY = 0.25
_REFUSED = 0.25  # of a program that refuses: better than a bad question, worse than a good one
_UNREAD = 0.4  # passes code, but is not what the gold row has, and no judge is there: no demo
_UNCOPIED = 0.5  # factor for words that are right but not those of the passage
NUMBERED = re.compile(r"\n\n(?=\[\d+\] )")
_SURPLUS = 0.3  # share of the reader's words beyond the wanted one; chosen by inspection
# Chosen by inspection: the token F1 from which a question is taken for the gold one, and the share
# of the words of the gold question that names the same subject.
_ALIKE, _NAMED = 0.6, 0.5
_LONGEST = 12  # words of a phrase; of 150 gold rows one phrase in twelve is longer
_FEWEST, _MOST = 3, 5  # phrases
_LONGEST_ASKED = 100  # words, as of the longest message of users


class Score(NamedTuple):
    """A score from 0 to 1, with feedback that names what is wrong, which 1 does without."""

    value: float
    feedback: str = ""


@dataclass(frozen=True, eq=False)
class Metric:
    """A metric for ``dspy.Evaluate`` and every optimizer of DSPy."""

    score: Callable[[dspy.Example, Any, Judge | None], Score]
    judge: Judge | None = None  # of questions that were written; None if code can tell

    def __call__(
        self,
        example: dspy.Example,
        prediction: Any,
        trace: Any = None,
        pred_name: Any = None,
        pred_trace: Any = None,
    ) -> Any:
        """Return the score; with a ``trace``, whether it may be a demo; with ``pred_name``, the
        feedback, too.
        """
        del pred_trace
        value, feedback = self.score(example, prediction, self.judge)
        if pred_name is not None:
            told = f"{feedback[:1].upper()}{feedback[1:]}"
            return dspy.Prediction(score=value, feedback=told if value < 1 else "It is right.")
        return value >= _GOOD_ENOUGH if trace is not None else value

    def using(self, judge: Judge) -> Self:
        """Return the metric with a judge."""
        return replace(self, judge=judge)


def _language(example: dspy.Example) -> Language:
    return LANGUAGES[example.get("language") or language_of(example.get("passage", ""))]


def _decision(example: dspy.Example, prediction: Any, *_: Any) -> Score:
    """Return 1 if the verdict is right, for the right reason; two thirds for another one, 0 if it
    is wrong.
    """
    reason, decision = example.get("reason", ""), verdict(prediction)
    if not example.good:
        fault = f"not {example.fault}".replace("_", "-")
        if decision.good:
            return Score(0.0, f"It is bad ({fault}): {reason}")
        if prediction[example.fault]:
            return Score(2 / 3, f"It is bad for another reason: {fault}: {reason}")
        return Score(1.0)
    if not decision.good:
        return Score(0.0, f"It is good, yet refused ({decision.reason}): {reason}")
    answer, expected = prediction.get("answer"), example.get("answer")
    alike = _alike(expected, answer, _language(example)) if answer and expected else 1.0
    return Score((2 + alike) / 3, f"Its answer is {expected!r}, not {answer!r}.")


def _alike(expected: str, answer: str, language: Language) -> float:
    """Return 1 for the same answer and 0 for another one; where words do not tell, the share of
    common words.
    """
    same = agree(expected, answer, language)
    return agreement(answer, expected) if same is None else float(same)


def _asked(example: dspy.Example, prediction: Any, judge: Judge | None) -> Score:
    """Return the score of a question with its answer and evidence, of a step or of a program; of a
    program, a refusal is worth more than a bad question.
    """
    gold = example.get("gold", [example])
    passages = example.get("passages") or [example.passage]
    passages = NUMBERED.split(passages) if isinstance(passages, str) else passages
    language = LANGUAGES[language_of(passages[0])]
    try:
        draft = Recipe.drafted("ask", prediction, passages, language, max_words=_LONGEST_ASKED)
    except RefusedError as refused:
        rejects = prediction.get("rejects") if not prediction.question else None
        told = [
            f"{reject.step} refused {reject.question or 'the passage'!r}: {reject.reason}."
            for reject in rejects or [refused.reject]
        ]
        told += [f"A gold question is: {row['question']}" for row in gold[:1]]
        return Score(_REFUSED if rejects else 0.0, " ".join(told))
    if fault := language_fault(draft.question, draft.answer, language.code):
        return Score(0.0, fault)
    places = {place for place, _ in draft.evidence}
    if "kind" in prediction and "passages" in example and len(places) < len(passages):
        feedback = "Its evidence is not from every passage, so one of them is not needed."
        return Score(_NEARLY, feedback)
    named = f"{example.get('topic')} {draft.question}"
    same = (row for row in gold if _repeats(row, named, draft))
    gives_away = has_words(draft.question, draft.answer)
    if any(has_words(row["question"], draft.answer) or not gives_away for row in same):
        return Score(1.0)
    passage = "\n\n".join(passages)
    return _judged(example, draft.question, draft.answer, judge, passage=passage)


def _repeats(row: Mapping[str, Any], named: str, draft: Draft) -> bool:
    """Return whether an answer is that of a gold row and rests on the same words, if the row has
    some, and what its question and topic name is what the gold question does.
    """
    if _alike(row.get("answer", ""), draft.answer, draft.language) < 1:
        return False
    evidence = row.get("evidence")
    pairs = product((quote for _, quote in draft.evidence), evidence or ())
    is_there = any(has_words(one, other) or has_words(other, one) for one, other in pairs)
    shared = draft.language.shared_words(row["question"], named)
    return (is_there or not evidence) and shared >= _NAMED


def _evolved(example: dspy.Example, prediction: Any, judge: Judge | None) -> Score:
    """Return the score of the new question; where the gold row has none, 1 if there is none."""
    question = tidy_question(prediction.question)
    if is_none(example.get("question") or question):
        reason = f"The passage carries no such form: {example.answer}."
        return Score(1.0) if is_none(question) else Score(0.0, reason)
    if question.casefold() == example.plain_question.casefold():
        return Score(0.0, "It repeats the plain question.")
    return _asked(example, prediction, judge)


def _judged(
    example: dspy.Example,
    question: str,
    answer: str,
    judge: Judge | None,
    *,
    gold: str = "",
    passage: str = "",  # if it is not that of the row
) -> Score:
    """Return 1 for a question in the words of the gold one, 0.5 to 1 for one that the judge keeps
    and answers alike, else up to 0.25; 0.4 without a judge.
    """
    if agreement(question, gold) >= _ALIKE:
        return Score(1.0)
    passage = passage or example.get("passage") or example.get("fact", "")
    topic, before = example.get("topic", ""), example.get("before", "")
    if passage and not _language(example).shared_words(question, f"{topic} {passage}"):
        return Score(0.0, f"It is about something else than the passage: {question!r}")
    if judge is None or not passage:
        return Score(_UNREAD, f"It is not what the gold row has, and no judge read {question!r}.")
    try:
        judged = judge(topic=topic, before=before, passage=passage, question=question)
    except AdapterParseError:
        return Score(0.0, "The judge's decision cannot be read.")
    unanswerable = example.get("form") == UNANSWERABLE
    decision = verdict(judged, unanswerable=unanswerable)
    probability = decision.probability if decision.probability is not None else float(decision.good)
    if not decision.good:
        return Score(_NEARLY * probability, f"A judge refuses {question!r}: {decision.reason}.")
    stated = "" if unanswerable else one_line(judged.get("answer", ""))
    if stated and not _alike(answer, stated, LANGUAGES[language_of(passage)]):
        feedback = f"The passage answers it with {stated!r}, not {answer!r}."
        return Score(_NEARLY * probability, feedback)
    return Score((1 + probability) / 2)


def _fact(example: dspy.Example, prediction: Any, judge: Judge | None) -> Score:
    question, answer = tidy_question(prediction.question), example.answer
    if fault := written_fault(question, answer, _language(example)):
        return Score(0.0, fault)
    if has_words(question, answer):
        return Score(0.0, f"It gives its answer away: {answer!r}.")
    return _judged(example, question, answer, judge, gold=example.get("question", ""))


def _revised(example: dspy.Example, prediction: Any, judge: Judge | None) -> Score:
    question, answer = tidy_question(prediction.new_question), one_line(prediction.new_answer)
    language, style = _language(example), example.get("style")
    expected = example.get("new_answer", "")
    if question.casefold() == example.question.casefold():
        return Score(0.0, "It repeats the question without the change.")
    if style == PERSONA:
        fault = wording_fault(example.question, question, expected, language)
    else:
        fault = written_fault(question, expected or answer or NOT_STATED, language)
    if fault:
        return Score(0.0, fault)
    if style == "follow_up":
        if not refers_back(question, example.question, example.change, language):
            return Score(0.0, "It leaves nothing out that the conversation tells.")
        judge = None  # who reads it alone does not understand it
    if expected and answer and not _alike(expected, answer, language):
        return Score(_NEARLY, f"Its answer must stay {expected!r}, not {answer!r}.")
    gold = example.get("new_question", "")
    return _judged(example, question, expected or answer, judge, gold=gold)


def _put(example: dspy.Example, prediction: Any, judge: Judge | None) -> Score:
    message = one_line(prediction.message)
    asked, answer, language = example.question, example.answer, _language(example)
    fault = written_fault(message, answer, language, None)
    if is_none(message) or has_words(message, asked):
        fault = "the question is not put anew"
    elif has_words(message, answer) and not has_words(asked, answer):
        fault = f"it gives its answer away: {answer!r}"
    if fault := fault or language_fault(message, answer, language.code):
        return Score(0.0, fault)
    words, (wanted, tenths) = len(message.split()), map(int, WANTED.findall(example.wording))
    if not wanted / 2 <= words <= 2 * wanted:
        return Score(_NEARLY, f"It has {words} words; about {wanted} are wanted.")
    if language.shared_words(message, asked) > tenths / 10 + _SURPLUS:
        return Score(_NEARLY, "It has too many of the reader's words.")
    return _judged(example, message, answer, judge, gold=example.get("message", ""))


def _answered(example: dspy.Example, prediction: Any, *_: Any) -> Score:
    """Return the agreement with the gold answer, halved if its words are not the passage's."""
    language, answer = _language(example), one_line(prediction.answer)
    is_stated = language.is_stated(answer) and answer.casefold() != NOT_STATED
    if example.answer == NOT_STATED:
        feedback = f"The passage does not say it, yet the answer is {answer!r}."
        return Score(0.0, feedback) if is_stated else Score(1.0)
    if not is_stated:
        return Score(0.0, f"The passage answers it: {example.answer!r}.")
    value = _alike(example.answer, answer, language)
    if has_words(example.passage, example.answer) and not has_words(example.passage, answer):
        value *= _UNCOPIED
    told = f"The answer is {example.answer!r}, in words of the passage, not {answer!r}."
    return Score(value, told)


def _phrases(example: dspy.Example, prediction: Any, *_: Any) -> Score:
    """Return the share of different phrases that the passage has and that are no sentences, less
    for fewer than three or more than five.
    """
    written = list(dict.fromkeys(filter(None, map(one_line, prediction.keyphrases))))
    lost = [
        phrase
        for phrase in written
        if len(phrase.split()) > _LONGEST or not has_words(example.passage, phrase)
    ]
    value = min(len(written) - len(lost), _MOST) / max(len(written), _FEWEST)
    told = f"Copy {_FEWEST} to {_MOST} phrases word for word; these are none: {'; '.join(lost)}"
    return Score(value, told)


METRICS: Mapping[str, Metric] = {
    name: Metric(score)
    for score, names in {
        _decision: ("score", "judge", "compare", "sound", "grounding"),
        _asked: ("ask", "combine", "program"),
        _evolved: ("evolve",),
        _fact: ("fact",),
        _revised: ("revise",),
        _put: ("reword",),
        _answered: ("answer",),
        _phrases: ("keyphrases",),
    }.items()
    for name in names
}


def __getattr__(name: str) -> Metric:
    """Return the metric of a step, or of a whole ``program``."""
    if name not in METRICS:
        raise AttributeError(f"there is no metric {name!r}; there are {', '.join(METRICS)}")
    return METRICS[name]
