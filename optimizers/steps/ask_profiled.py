"""Compiling the step ``ask_profiled``: gold questions for profiles."""

from collections.abc import Iterator
from typing import Any, Literal

import dspy

from optimizers.gold import PassagesGold, Question, Text, reveals_answer
from optimizers.steps.base import Compiling, Instruction, Judges, Rows, Scored, Source
from optimizers.steps.examples import example_row, numbered_passages
from optimizers.steps.worth import score_verdict
from programs.quotes import find_quotes
from programs.steps.ask_profiled import STEP, options_of, options_problem
from programs.steps.question import is_none, tidy_question


class AskProfiledGold(PassagesGold):
    """A question for a profile; ``options`` are empty unless the profile wants a choice."""

    step: Literal["ask_profiled"]
    clue: Text
    profile: Text
    question: Question
    options: tuple[Text, ...] = ()
    answer: Text
    evidence: Text

    def _problems(self) -> Iterator[str]:
        yield from super()._problems()
        if self.options and (problem := options_problem(self.options, self.answer)):
            yield problem
        yield from reveals_answer(self.question, self.answer)


def examples(source: Source) -> tuple[Rows, Rows]:
    """Return passages and profiles with the question."""
    rows: Rows = []
    for row, passages, shown in numbered_passages(source, AskProfiledGold):
        inputs = {
            "clue": row.clue,
            "passages": shown,
            "asked_already": [],
            "profile": row.profile,
        }
        outputs = row.model_dump(include={"question", "answer", "evidence"})
        options = " | ".join(row.options) or "none"
        rows.append(example_row(row, "\n\n".join(passages), inputs, each=passages, options=options, **outputs))
    return rows, rows


def metric(example: dspy.Example, output: Any, judges: Judges) -> Scored:
    """Return 0.5 to 1 for a question that the critic accepts, else up to 0.25.

    It is 0 if evidence or options are refused, or if there are options where the gold question has none or vice versa.
    """
    question, answer = tidy_question(output.question), " ".join(output.answer.split())
    options = options_of(output.options)
    if is_none(question) or not question or not answer:
        return Scored(0.0, "No question with an answer was written.")
    pieces = [piece for piece in output.evidence.split("|") if piece.strip()]
    if not pieces or not all(any(find_quotes(passage, piece) for passage in example.each) for piece in pieces):
        return Scored(0.0, "Its evidence is not in the passages.")
    if bool(options) != bool(options_of(example.options)):
        return Scored(0.0, "It has options though the profile wants none." if options else "It has no options.")
    if options and (problem := options_problem(options, answer)):
        return Scored(0.0, f"Its options are wrong: {problem}.")
    return score_verdict(judges.judge(example.passage, question))


INSTRUCTIONS = (
    Instruction(
        r"evidence|No question",
        "Write four lines: Question, Options, Answer, Evidence. The evidence is one or more sentences of the passages, "
        "copied letter by letter, with | between them; the answer says what they say.",
    ),
    Instruction(
        r"options",
        "Read the profile first. If it wants a choice, write four options with | between them, one of them equal to "
        "the answer, and none of them in the question. If it wants no choice, write none as options.",
    ),
    Instruction(r"not independent|not clear|not answerable", "Ask one short question that names its subject in full."),
)

COMPILING = Compiling(STEP, examples, metric, INSTRUCTIONS, deviation=0.3, gold=AskProfiledGold)
