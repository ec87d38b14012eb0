"""Compiling the step ``ask``: gold passages with questions, answers and evidence."""

import random
from collections.abc import Iterator, Sequence
from typing import Any, Literal

import dspy

from optimizers.gold import GoldRow, Question, SingleChunkGold, Text, reveals_answer
from optimizers.labels import Label
from optimizers.steps.base import Compiling, Finetuning, Instruction, Judges, Rows, Scored, Source
from optimizers.steps.examples import clean_topic, example_row, gold_with_passages
from optimizers.steps.question import QuestionGold
from optimizers.steps.worth import score_question_for_answer
from programs.languages.table import Languages
from programs.steps.ask import LENGTHS, STEP
from programs.written import check_written
from signatures.ask import WrittenQuestion


class AskGold(SingleChunkGold):
    """A question about a whole passage, with its answer and evidence; ``answers`` is the length of the answer."""

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

    def _problems(self) -> Iterator[str]:
        if self.evidence not in self.passage:
            yield "the evidence is not in the passage"
        if self.kind != "comparison":
            yield from reveals_answer(self.question, self.answer)


_PER_TURN = 2  # questions of a passage in one turn, as in a run
# From kinds of gold questions about one fact to those of the step. It asks no yes/no questions.
_KINDS = {
    **dict.fromkeys(("amount", "place", "time", "person", "what"), "fact"),
    **{kind: kind for kind in ("why", "how", "comparison", "purpose", "condition", "definition", "list")},
    "what_if": "consequence",
}


class _Turn(AskGold):
    """Several gold questions about one passage: the row of the first question, with the others in ``more``."""

    more: tuple[AskGold, ...] = ()

    @property
    def questions(self) -> list[WrittenQuestion]:
        """Return the questions as outputs of the step."""
        return [
            WrittenQuestion(kind=row.kind, question=row.question, answer=row.answer, evidence=row.evidence)
            for row in (self, *self.more)
        ]


def turns(rows: Sequence[Label | GoldRow]) -> list[_Turn]:
    """Group the gold questions by passage and length of answers, and return them in turns."""
    by_passage: dict[tuple[str, str], list[AskGold]] = {}
    for row in rows:
        if isinstance(row, AskGold):
            by_passage.setdefault((row.chunk, row.answers), []).append(row)
    result = []
    for questions in by_passage.values():
        for start in range(0, len(questions), _PER_TURN):
            first, *more = questions[start : start + _PER_TURN]
            result.append(_Turn(**first.model_dump(), more=tuple(more)))
    return result


def signature_inputs(row: _Turn) -> dict[str, Any]:
    """Return the inputs that a run would pass to get these questions."""
    return {
        "topic": row.topic,
        "before": row.before,
        "passage": row.passage,
        "asked_already": [],
        "answers": LENGTHS[row.answers],
        "kinds": [each.kind for each in row.questions],
    }


def examples(source: Source) -> tuple[Rows, Rows]:
    """Return the passages of gold questions of this step and of ``question``, with their questions."""
    gold = [*source.gold_of(AskGold), *_from_facts(source)]
    rows = [
        example_row(row, row.passage, signature_inputs(row), questions=[each.model_dump() for each in row.questions])
        for row in turns(gold)
    ]
    return rows, rows


def _from_facts(source: Source) -> Iterator[AskGold]:
    """Convert gold questions about one fact; the fact becomes the evidence."""
    for row, passage in gold_with_passages(source, QuestionGold):
        if row.kind in _KINDS and row.fact in passage and row.fact != passage:
            fields = row.model_dump(exclude={"fact", "reply", "before"})
            fields |= {"step": "ask", "kind": _KINDS[row.kind], "topic": clean_topic(row.topic)}
            yield AskGold(**fields, passage=passage, evidence=row.fact, answers="short")


def metric(example: dspy.Example, output: Any, judges: Judges) -> Scored:
    """Return the mean score of the questions over the requested kinds; a question without evidence scores 0."""
    values, feedback = [], []
    for place in range(len(example.kinds)):
        if place >= len(output.questions):
            values.append(0.0)
            feedback.append(f"It wrote {len(output.questions)} of {len(example.kinds)} questions.")
            continue
        each = output.questions[place]
        focus, problem = check_written(
            judges.language_of(example),
            example.passage,
            each.question,
            each.answer,
            each.evidence,
            example.kinds[place],
        )
        if problem is None:
            target = example.copy(answer=focus.answer, focus=focus)
            scored = score_question_for_answer(target, focus.wording, judges)
        else:
            scored = Scored(0.0, f"{problem[:1].upper()}{problem[1:]}.")
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


def finetuning_inputs(row: _Turn, languages: Languages, rng: random.Random) -> dict[str, Any]:
    """Return the inputs of a turn, with the preceding text in a random half of the turns."""
    del languages
    return signature_inputs(row) | ({} if rng.random() < 0.5 else {"before": ""})


FINETUNING = Finetuning(("ask",), turns, "Ask about the passage: kind, question, answer, evidence.", finetuning_inputs)
COMPILING = Compiling(
    STEP, examples, metric, INSTRUCTIONS, deviation=0.3, asks_model=True, finetuning=FINETUNING, gold=AskGold
)
