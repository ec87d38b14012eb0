"""Compiling the step ``ask``: gold passages, and questions about them with answer and evidence."""

import random
from collections.abc import Iterator, Sequence
from typing import Any, Literal

import dspy

from optimizers.gold_rows import GoldOfOneChunk, GoldRow, Question, Text, given_away
from optimizers.labels import Label
from optimizers.steps.base import Compiling, Instruction, Judges, Rows, Scored, Source, Teaching
from optimizers.steps.examples import example_row, of_gold, topic_once
from optimizers.steps.question import QuestionGold
from optimizers.steps.worth import meant_question_worth
from programs.languages.table import Languages
from programs.modes.free import check_written
from programs.steps.ask import LENGTHS, STEP
from signatures.ask import WrittenQuestion


class AskGold(GoldOfOneChunk):
    """A question that was asked freely about a passage, with its answer and the words that this rests on.

    ``answers`` says whether the answer is short or in whole sentences.
    """

    step: Literal["ask"]
    topic: str
    before: str = ""
    passage: Text
    question: Question
    answer: Text
    evidence: Text
    answers: Literal["short", "open"]
    kind: Literal[
        "fact", "definition", "why", "how", "comparison", "list", "consequence", "purpose", "condition",
    ]  # fmt: skip

    def _faults(self) -> Iterator[str]:
        if self.evidence not in self.passage:
            yield "the evidence does not stand in the passage"
        if self.kind != "comparison":
            yield from given_away(self.answer, self.question)


_TOGETHER = 2  # questions of a passage that are shown, and asked for, in one turn: as many as a run asks for
# Kinds of gold questions about one fact, as free asking calls them; whether something is so is never asked.
_KINDS = {
    **dict.fromkeys(("amount", "place", "time", "person", "what"), "fact"),
    **{kind: kind for kind in ("why", "how", "comparison", "purpose", "condition", "definition", "list")},
    "what_if": "consequence",
}


class _Turn(AskGold):
    """Gold questions of one passage as one turn: the row of the first, with all of them."""

    more: tuple[AskGold, ...] = ()

    @property
    def questions(self) -> list[WrittenQuestion]:
        """Return the questions as they are written."""
        return [
            WrittenQuestion(kind=row.kind, question=row.question, answer=row.answer, evidence=row.evidence)
            for row in (self, *self.more)
        ]


def turns(rows: Sequence[Label | GoldRow]) -> list[_Turn]:
    """Return the gold questions of each passage, those with answers of one length, a few at a time."""
    by_passage: dict[tuple[str, str], list[AskGold]] = {}
    for row in rows:
        if isinstance(row, AskGold):
            by_passage.setdefault((row.chunk, row.answers), []).append(row)
    found = []
    for asked in by_passage.values():
        for place in range(0, len(asked), _TOGETHER):
            first, *more = asked[place : place + _TOGETHER]
            found.append(_Turn(**first.model_dump(), more=tuple(more)))
    return found


def shown(row: _Turn) -> dict[str, Any]:
    """Return what a run would show to have these questions asked."""
    return {
        "topic": row.topic,
        "before": row.before,
        "passage": row.passage,
        "asked_already": [],
        "answers": LENGTHS[row.answers],
        "kinds": [each.kind for each in row.questions],
    }


def examples(source: Source) -> tuple[Rows, Rows]:
    """Return the passages of gold questions, asked freely or about one fact, to be shown with these and to try on."""
    asked = [*source.gold_of(AskGold), *_of_facts(source)]
    rows = [
        example_row(row, row.passage, shown(row), questions=[each.model_dump() for each in row.questions])
        for row in turns(asked)
    ]
    return rows, rows


def _of_facts(source: Source) -> Iterator[AskGold]:
    """Yield gold questions about one fact as such about its passage: the fact is what the answer rests on."""
    for row, passage in of_gold(source, QuestionGold):
        if row.kind in _KINDS and row.fact in passage and row.fact != passage:
            fields = row.model_dump(exclude={"fact", "reply", "before"})
            fields |= {"step": "ask", "kind": _KINDS[row.kind], "topic": topic_once(row.topic)}
            yield AskGold(**fields, passage=passage, evidence=row.fact, answers="short")


def worth(example: dspy.Example, output: Any, judges: Judges) -> Scored:
    """Return the mean worth of the questions over the kinds that were wanted; nothing for one without evidence."""
    values, feedback = [], []
    for place in range(len(example.kinds)):
        if place >= len(output.questions):
            values.append(0.0)
            feedback.append(f"It wrote {len(output.questions)} of {len(example.kinds)} questions.")
            continue
        each = output.questions[place]
        focus, fault = check_written(
            judges.language_of(example),
            example.passage,
            each.question,
            each.answer,
            each.evidence,
            example.kinds[place],
        )
        if fault is None:
            meant = example.copy(answer=focus.answer, focus=focus)
            scored = meant_question_worth(meant, focus.wording, judges)
        else:
            scored = Scored(0.0, f"{fault[:1].upper()}{fault[1:]}.")
        values.append(scored.value)
        feedback.append(scored.feedback)
    return Scored(sum(values) / len(values), " ".join(dict.fromkeys(filter(None, feedback))))


INSTRUCTIONS = (
    Instruction(
        r"evidence is not in|no question with an answer",
        "For each kind of question that is wanted write four lines: Kind, Question, Answer, Evidence. The evidence "
        "is a sentence of the passage, copied letter by letter. The answer is what this sentence says.",
    ),
    Instruction(
        r"name the subject|pronoun|names nothing|points at",
        "Write questions that a stranger understands who has never seen the passage. Name the subject in full as the "
        "topic does; never write it, he, she, they, this passage or this text. Answer each from the passage and copy "
        "the sentence that says so as evidence.",
    ),
    Instruction(
        r"gives its answer away|another kind of thing|the model answers",
        "Choose for each kind a statement of the passage that is worth knowing, and ask for it so that nothing else is "
        "the answer. Keep the words of the answer out of the question. Copy the statement as evidence.",
    ),
)


def taught(row: _Turn, languages: Languages, chance: random.Random) -> dict[str, Any]:
    """Return what a run would show of a turn; what stands before the passage is left out of every other one."""
    del languages
    return shown(row) | ({} if chance.random() < 0.5 else {"before": ""})


TEACHING = Teaching(("ask",), turns, "Ask about the passage: kind, question, answer, evidence.", taught)
COMPILING = Compiling(
    STEP, examples, worth, INSTRUCTIONS, deviation=0.3, asks_model=True, teaching=TEACHING, gold=AskGold
)
