"""Metrics of the steps and of whole programs, as DSPy's optimizers call them.

``metrics.judge(example, prediction)`` is a score from 0 to 1; with ``pred_name``, as GEPA calls it,
it comes with feedback. ``metrics.ask.using(judge)`` lets a judge decide about what was written: a
predictor or a fitted head of the step ``judge``, which should not be the one that is compiled.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import dspy
from dspy.utils.exceptions import AdapterParseError

from groundset.optimizers.labels import NOT_STATED
from groundset.programs.checks import (
    agree,
    is_none,
    language_fault,
    located,
    tidy_question,
    written_fault,
)
from groundset.programs.features import agreement
from groundset.programs.forms import STYLES, UNANSWERABLE, refers_back, wording_fault
from groundset.programs.languages import LANGUAGES, language_of
from groundset.programs.outcome import verdict
from groundset.programs.text import has_words
from groundset.programs.words import Language

Judge = Callable[..., dspy.Prediction]
_GOOD_ENOUGH = 0.5  # score from which what was written may be a demo
_NEARLY = (
    0.25  # most of a refused question, so that candidates differ even if few questions are accepted
)
_REFUSED = 0.25  # of a program that refuses: better than a bad question, worse than a good one
_UNCOPIED = 0.5  # factor for words that are right but not those of the passage
_NUMBERED = re.compile(r"\n\n(?=\[\d+\] )")
_PHRASES = range(3, 6)
_ALIKE = 0.6  # token F1 from which a written text is taken for the gold one; chosen by inspection


class Score(NamedTuple):
    """A score from 0 to 1, with feedback that names what is wrong; empty if nothing is."""

    value: float
    feedback: str = ""


@dataclass(frozen=True, eq=False)
class Metric:
    """A metric for ``dspy.Evaluate`` and every optimizer of DSPy."""

    name: str  # the step, or ``program``
    score: Callable[[dspy.Example, Any, Judge | None], Score]
    judge: Judge | None = (
        None  # decides about questions that were written; None if checks by code are enough
    )

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
            return dspy.Prediction(score=value, feedback=feedback or "It is right.")
        return value >= _GOOD_ENOUGH if trace is not None else value

    def using(self, judge: Judge) -> Self:
        """Return the metric with a judge."""
        return replace(self, judge=judge)


def _language(example: dspy.Example) -> Language:
    return LANGUAGES[example.get("language") or language_of(str(example.get("passage") or ""))]


def _decision(example: dspy.Example, prediction: Any, *_: Any) -> Score:
    """Return 1 if the verdict is right, for the right reason; two thirds for another one, 0 if it
    is wrong.
    """
    decision = verdict(prediction)
    if decision.good != example.good:
        said = (
            "It is good"
            if example.good
            else f"It is bad (not {str(example.fault).replace('_', '-')})"
        )
        return Score(0.0, f"{said}: {example.get('reason', '')}")
    if example.good or not bool(prediction[example.fault]):
        value, feedback = 1.0, ""
    else:
        value, feedback = (
            2 / 3,
            f"It is bad for another reason: not {example.fault}: {example.get('reason', '')}",
        )
    found, expected = prediction.get("answer"), example.get("answer")
    if (
        example.good
        and found
        and expected
        and (alike := _alike(expected, found, _language(example))) < 1
    ):
        value, feedback = (2 + alike) / 3, f"Its answer is {expected!r}, not {found!r}."
    return Score(value, feedback)


def _alike(expected: str, found: str, language: Language) -> float:
    """Return 1 for the same answer and 0 for another one; where words do not tell, the share of
    common words.
    """
    same = agree(expected, found, language.code)
    return agreement(found, expected) if same is None else float(same)


def _asked(example: dspy.Example, prediction: Any, judge: Judge | None) -> Score:
    question, answer = tidy_question(prediction.question), " ".join(str(prediction.answer).split())
    if is_none(question):
        return Score(
            0.0, f"The passage is worth a question, such as: {example.get('question', '')}"
        )
    passages = _NUMBERED.split(example.passages) if "passages" in example else [example.passage]
    code = language_of(passages[0])
    if fault := written_fault(question, answer, LANGUAGES[code]) or language_fault(
        question, answer, code
    ):
        return Score(0.0, _sentence(fault))
    quotes = located(passages, prediction.evidence)
    if quotes is None:
        return Score(
            0.0, f"Its evidence is not in the passage word for word: {prediction.evidence!r:.200}"
        )
    if (
        "kind" in prediction
        and "passages" in example
        and len({place for place, _ in quotes}) < len(passages)
    ):
        return Score(
            _NEARLY, "Its evidence is not from every passage, so one of them is not needed."
        )
    if bool(example.get("options")) != bool(prediction.get("options")):
        return Score(
            0.0, "It needs options." if example.get("options") else "It must have no options."
        )
    passage = "\n\n".join(passages)
    return _judged(
        example, question, answer, passage, judge, unanswerable=example.get("form") == UNANSWERABLE
    )


def _judged(
    example: dspy.Example,
    question: str,
    answer: str,
    passage: str,
    judge: Judge | None,
    *,
    unanswerable: bool = False,
) -> Score:
    """Return 0.5 to 1 for a question that the judge keeps and answers alike, else up to 0.25; 1
    without a judge.
    """
    if judge is None:
        return Score(1.0)
    given = {
        "topic": example.get("topic") or "",
        "before": example.get("before") or "",
        "passage": passage,
    }
    try:
        judged = judge(**given, question=question)
    except AdapterParseError:
        return Score(0.0, "The judge's decision cannot be read.")
    decision = verdict(judged, unanswerable=unanswerable)
    probability = decision.probability if decision.probability is not None else float(decision.good)
    found = str(judged.get("answer") or "")
    if (
        decision.good
        and found
        and not unanswerable
        and not _alike(answer, found, LANGUAGES[language_of(passage)])
    ):
        return Score(
            _NEARLY * probability, f"The passage answers it with {found!r}, not {answer!r}."
        )
    if not decision.good:
        return Score(_NEARLY * probability, f"A judge refuses {question!r}: {decision.reason}.")
    return Score((1 + probability) / 2)


def _fact(example: dspy.Example, prediction: Any, judge: Judge | None) -> Score:
    question = tidy_question(prediction.question)
    if fault := written_fault(question, example.answer, _language(example)):
        return Score(0.0, _sentence(fault))
    if has_words(question, example.answer):
        return Score(0.0, f"It gives its answer away: {example.answer!r}.")
    return _judged(example, question, example.answer, example.get("passage") or example.fact, judge)


def _revised(example: dspy.Example, prediction: Any, judge: Judge | None) -> Score:
    question, answer = (
        tidy_question(prediction.new_question),
        " ".join(str(prediction.new_answer).split()),
    )
    language, style = _language(example), STYLES.get(example.get("style", ""))
    expected = example.get("new_answer") or ""
    if question.casefold() == example.question.casefold():
        return Score(0.0, "It repeats the question without the change.")
    if style is not None:
        fault = wording_fault(
            style, example.question, question, expected, language, example.get("examples") or []
        )
    else:
        fault = written_fault(question, expected or answer or NOT_STATED, language)
    if fault:
        return Score(0.0, _sentence(fault))
    if example.get("style") == "follow_up":
        if not refers_back(question, example.question, example.change, language):
            return Score(0.0, "It leaves nothing out that the conversation tells.")
        return Score(1.0)
    if example.get("style") == "compress" and len(question) >= len(example.question):
        return Score(0.0, "It is no shorter than the question.")
    if expected and answer and not _alike(expected, answer, language):
        return Score(_NEARLY, f"Its answer must stay {expected!r}, not {answer!r}.")
    if not example.get("passage"):
        return Score(1.0)
    return _judged(example, question, expected or answer, example.passage, judge)


def _answered(example: dspy.Example, prediction: Any, *_: Any) -> Score:
    """Return the agreement with the gold answer, halved if its words are not the passage's."""
    language, answer = _language(example), " ".join(str(prediction.answer).split())
    stated = language.is_stated(answer) and answer.casefold() != NOT_STATED
    if example.answer == NOT_STATED:
        return (
            Score(0.0, f"The passage does not say it, yet the answer is {answer!r}.")
            if stated
            else Score(1.0)
        )
    if not stated:
        return Score(0.0, f"The passage answers it: {example.answer!r}.")
    value = _alike(example.answer, answer, language)
    feedback = "" if value == 1 else f"The answer is {example.answer!r}, not {answer!r}."
    if not has_words(example.passage, answer):
        return Score(value * _UNCOPIED, f"{feedback} Copy the words of the passage.".strip())
    return Score(value, feedback)


def _phrases(example: dspy.Example, prediction: Any, *_: Any) -> Score:
    """Return the share of phrases that the passage has, less for fewer than three or more than
    five.
    """
    written = [str(phrase) for phrase in prediction.keyphrases]
    stated = [phrase for phrase in written if has_words(example.passage, phrase)]
    wanted = min(max(len(written), _PHRASES.start), _PHRASES.stop - 1)
    lost = [phrase for phrase in written if phrase not in stated]
    feedback = [f"Not in the passage word for word: {'; '.join(lost)}."] if lost else []
    feedback += (
        [f"It names {len(written)} phrases; three to five are wanted."]
        if len(written) not in _PHRASES
        else []
    )
    return Score(len(stated) / max(len(written), wanted), " ".join(feedback))


def _clues(example: dspy.Example, prediction: Any, *_: Any) -> Score:
    """Return the share of wanted clues that are one question each, with a statement as example."""
    language, values, feedback = _language(example), [], []
    for each in prediction.clues[: example.count]:
        fault = written_fault(tidy_question(each.clue), NOT_STATED, language)
        fault = (
            "its example is no statement"
            if not fault and (not each.example or "?" in each.example)
            else fault
        )
        fault = (
            "it does not name its subject"
            if not fault and language.refers_to_text(each.clue)
            else fault
        )
        values.append(not fault)
        feedback += [f"{each.clue!r}: {fault}."] if fault else []
    if len(values) < example.count:
        feedback.append(f"It wrote {len(values)} of {example.count} clues.")
    return Score(sum(values) / example.count, " ".join(feedback))


def _distilled(example: dspy.Example, prediction: Any, *_: Any) -> Score:
    """Return the mean of the F1 of the needed passages and of the verdict whether something is
    missing.
    """
    written, wanted = set(prediction.needed), set(example.needed)
    right = 2 * len(written & wanted) / (len(written) + len(wanted)) if written | wanted else 1.0
    lacks, should = (
        str(text).strip(" .").casefold() not in ("", "nothing", "none")
        for text in (prediction.missing, example.missing)
    )
    feedback = [f"Not needed: {sorted(written - wanted)}."] if written - wanted else []
    feedback += [f"Needed, too: {sorted(wanted - written)}."] if wanted - written else []
    feedback += [f"Missing is: {example.missing}."] if lacks != should else []
    return Score((right + (lacks == should)) / 2, " ".join(feedback))


def _suggested(example: dspy.Example, prediction: Any, *_: Any) -> Score:
    """Return the share of the wanted profiles that can be read: every dimension with one of its
    values.
    """
    names = [name for name in example.form.replace(": …", "").split(" | ") if name]
    values = {
        line[2:].partition(":")[0].casefold()
        for line in example.dimensions.splitlines()
        if line[:2] == "- "
    }
    readable = set()
    for line in str(prediction.profiles).splitlines():
        parts = dict(part.split(":", 1) for part in line.split("|") if ":" in part)
        found = {
            name.strip(" -*").casefold(): value.strip(" .*").casefold()
            for name, value in parts.items()
        }
        if [*found] == [name.casefold() for name in names] and set(found.values()) <= values:
            readable.add(line.strip())
    value = min(1.0, len(readable) / example.count)
    missing = f"{len(readable)} of {example.count} lines hold a whole profile of known values."
    return Score(value, "" if value == 1 else f"{missing} The form is: {example.form}")


def _program(example: dspy.Example, prediction: Any, judge: Judge | None) -> Score:
    """Return the score of the question that a program accepted; a refusal is worth more than a bad
    question.
    """
    if not prediction.question:
        reasons = [
            f"{each.step} refused {each.question or 'the passage'!r}: {each.reason}."
            for each in prediction.rejects
        ]
        return Score(_REFUSED, " ".join(reasons) or "It made no question.")
    passages: Sequence[str] = example.get("passages") or [example.passage]
    return _judged(example, prediction.question, prediction.answer, "\n\n".join(passages), judge)


def _sentence(fault: str) -> str:
    return f"{fault[:1].upper()}{fault[1:]}."


METRICS: Mapping[str, Metric] = {
    name: Metric(name, score)
    for score, names in {
        _decision: ("chunk", "judge", "compare", "review", "sound", "grounding"),
        _asked: ("ask", "combine", "ask_profiled"),
        _fact: ("fact",),
        _revised: ("revise",),
        _answered: ("answer",),
        _phrases: ("keyphrases",),
        _clues: ("clues",),
        _distilled: ("distil",),
        _suggested: ("profiles",),
        _program: ("program",),
    }.items()
    for name in names
}


def __getattr__(name: str) -> Metric:
    """Return the metric of a step, or of a whole ``program``."""
    if name not in METRICS:
        raise AttributeError(f"there is no metric {name!r}; there are {', '.join(METRICS)}")
    return METRICS[name]
