"""Compiling the step ``follow_up``: gold conversations, the turns of which are questions of ``ask``."""

from collections.abc import Iterator
from typing import Any, Literal

import dspy

from optimizers.gold import Question, SingleChunkGold, Text, unchanged
from optimizers.steps.base import Compiling, Finetuning, Instruction, Judges, Rows, Scored, Source
from optimizers.steps.examples import example_row
from optimizers.steps.worth import score_question_for_answer
from programs.steps.ask import LENGTHS
from programs.steps.follow_up import STEP, refers_back
from programs.steps.question import tidy_question
from programs.written import check_written


class FollowUpGold(SingleChunkGold):
    """A question with its answer, and a follow-up with its stand-alone form, answer and evidence."""

    step: Literal["follow_up"]
    topic: str
    passage: Text
    question: Question
    answer: Text
    follow_up: Question
    stand_alone_question: Question
    new_answer: Text
    evidence: Text
    answers: Literal["short", "open"]

    def _problems(self) -> Iterator[str]:
        if self.evidence not in self.passage:
            yield "the evidence is not in the passage"
        yield from unchanged(self.question, self.stand_alone_question)


def signature_inputs(row: FollowUpGold) -> dict[str, str]:
    """Return the inputs that a run would pass."""
    fields = row.model_dump(include={"topic", "passage", "question", "answer"})
    return {**fields, "answers": LENGTHS[row.answers]}


def examples(source: Source) -> tuple[Rows, Rows]:
    """Return the first turns of gold conversations, with their follow-ups."""
    rows = [
        example_row(
            row,
            row.passage,
            signature_inputs(row),
            follow_up=row.follow_up,
            stand_alone_question=row.stand_alone_question,
            new_answer=row.new_answer,
            evidence=row.evidence,
        )
        for row in source.gold_of(FollowUpGold)
    ]
    return rows, rows


def metric(example: dspy.Example, output: Any, judges: Judges) -> Scored:
    """Return the score of the stand-alone question for its own answer; 0 if the follow-up does not refer back."""
    language = judges.language_of(example)
    focus, problem = check_written(
        language, example.passage, output.stand_alone_question, output.new_answer, output.evidence, ""
    )
    follow_up = tidy_question(output.follow_up)
    if problem is None and not follow_up.endswith("?"):
        problem = "it wrote no follow-up question"
    elif problem is None and not refers_back(
        follow_up, focus.wording, f"{example.question} {example.answer}", language
    ):
        problem = "the follow-up can be understood alone: it leaves nothing out that the first turn tells"
    if problem is not None:
        return Scored(0.0, f"{problem[:1].upper()}{problem[1:]}.")
    return score_question_for_answer(example.copy(answer=focus.answer, focus=focus), focus.wording, judges)


INSTRUCTIONS = (
    Instruction(
        r"evidence is not in|no question with an answer|no follow-up",
        "Write four lines: the follow-up as it is said, the same question with all names in it, its answer, and as "
        "evidence the sentence of the passage that says so, copied letter by letter.",
    ),
    Instruction(
        r"understood alone",
        "In the follow-up, put it, they, he, she or there for what the first question and its answer are about. In the "
        "stand-alone question, put the names back.",
    ),
    Instruction(
        r"name the subject|pronoun|names nothing|points at|the model answers",
        "The stand-alone question names every thing in full, as the topic does, so that a stranger understands it.",
    ),
)

FINETUNING = Finetuning.on_gold(
    FollowUpGold, "follow_up", "Ask a follow-up: as said, in full, answer, evidence.", signature_inputs
)
COMPILING = Compiling(
    STEP,
    examples,
    metric,
    INSTRUCTIONS,
    deviation=0.3,
    asks_model=True,
    finetuning=FINETUNING,
    gold=FollowUpGold,
)
