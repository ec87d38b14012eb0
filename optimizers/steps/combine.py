"""Compiling the step ``combine``: gold questions that need several chunks."""

from typing import Any

import dspy

from optimizers.steps.base import Compiling, Instruction, Judges, Rows, Scored, Source
from optimizers.steps.examples import example_row
from optimizers.steps.multi_context import MultiContextGold
from optimizers.steps.worth import score_verdict
from programs.quotes import find_quotes
from programs.steps.ask import LENGTHS
from programs.steps.combine import STEP, numbered_texts
from programs.text import plain
from programs.written import check_written


def examples(source: Source) -> tuple[Rows, Rows]:
    """Return the chunks of gold questions, with the question as output."""
    rows: Rows = []
    for row in source.gold_of(MultiContextGold):
        passages = [plain(source.texts.get(chunk, "")) for chunk in row.chunks]
        topics = [topic.strip() for topic in row.topic.split("|")]
        stated = all(fact in passage for fact, passage in zip(row.facts, passages, strict=True))
        if not stated or len(topics) != len(passages):
            continue
        inputs: dict[str, Any] = {
            "passages": numbered_texts(list(zip(topics, passages, strict=True))),
            "asked_already": [],
            "answers": LENGTHS["short"],
            "kinds": [row.kind],
        }
        written = {"kind": row.kind, "question": row.question, "answer": row.answer, "evidence": " | ".join(row.facts)}
        rows.append(example_row(row, "\n\n".join(passages), inputs, each=passages, questions=[written]))
    return rows, rows


def metric(example: dspy.Example, output: Any, judges: Judges) -> Scored:
    """Return 0.5 to 1 for a question that the critic accepts and whose evidence is in every passage, else up to 0.25.

    It is 0 if there is no valid question.
    """
    if not output.questions:
        return Scored(0.0, "No question with an answer was written.")
    first = output.questions[0]
    focus, problem = check_written(
        judges.language_of(example), example.passage, first.question, first.answer, first.evidence, first.kind
    )
    if problem is not None:
        return Scored(0.0, f"{problem[:1].upper()}{problem[1:]}.")
    quotes = [quote for quote in first.evidence.split("|") if quote.strip()]
    lacking = [passage for passage in example.each if not any(find_quotes(passage, quote) for quote in quotes)]
    problem = "Its evidence does not lie in every passage." if lacking else ""
    return score_verdict(judges.judge(example.passage, focus.wording), problem)


INSTRUCTIONS = (
    Instruction(
        r"evidence is not in|No question|no question",
        "Write Kind, Question, Answer and Evidence, a line each. The evidence is one sentence of every passage, copied "
        "letter by letter, with | between them.",
    ),
    Instruction(
        r"not lie in every",
        "Find what one passage says about a thing that another one speaks of too. Describe that thing by what the "
        "first tells, without its name, and ask what the other tells.",
    ),
    Instruction(r"not independent|not clear|not answerable", "Ask one short question that names its subject in full."),
)

COMPILING = Compiling(STEP, examples, metric, INSTRUCTIONS, deviation=0.3)
