"""Compiling the step ``evolve``: gold questions under a condition or over two facts, with the plain ones."""

from typing import Any

import dspy

from optimizers.steps.base import Compiling, Instruction, Judges, Rows, Scored, Source
from optimizers.steps.conditional import ConditionalGold
from optimizers.steps.examples import example_row, topic_once
from optimizers.steps.reasoning import ReasoningGold
from optimizers.steps.worth import meant_question_worth
from programs.evolutions import EVOLUTIONS
from programs.features import agreement
from programs.modes.free import change_of, check_written
from programs.steps.ask import LENGTHS
from programs.steps.evolve import STEP
from programs.text import plain

_SAME = 0.95  # token F1 from which on a question was not changed


def examples(source: Source) -> tuple[Rows, Rows]:
    """Return gold questions of both evolutions with their passages, to be shown and to try on."""
    rows: Rows = []
    gold: list[ReasoningGold | ConditionalGold] = [*source.gold_of(ReasoningGold), *source.gold_of(ConditionalGold)]
    for row in gold:
        passage = plain(source.texts.get(row.chunk, ""))
        evidence = " | ".join(row.facts)
        if not passage or any(fact not in passage for fact in row.facts):
            continue
        new = row.reasoning_question if isinstance(row, ReasoningGold) else row.conditional_question
        asked = {
            "topic": topic_once(row.topic),
            "passage": passage,
            "question": row.question,
            "answer": row.answer,
            "change": change_of(EVOLUTIONS[row.step]),
            "answers": LENGTHS["short"],
        }
        written = example_row(row, passage, asked, new_question=new, new_answer=row.answer, evidence=evidence)
        rows.append(written)
    return rows, rows


def worth(example: dspy.Example, output: Any, judges: Judges) -> Scored:
    """Return what the changed question is worth for its own answer; 0 for one that was not changed."""
    question, answer = output.new_question, output.new_answer
    focus, fault = check_written(judges.language_of(example), example.passage, question, answer, output.evidence, "")
    if fault is not None:
        return Scored(0.0, f"{fault[:1].upper()}{fault[1:]}.")
    if agreement(focus.wording, example.question) >= _SAME:
        return Scored(0.0, "It repeats the question instead of changing it.")
    meant = example.copy(answer=focus.answer, focus=focus)
    return meant_question_worth(meant, focus.wording, judges)


INSTRUCTIONS = (
    Instruction(
        r"evidence is not in|no question with an answer",
        "Write the changed question, its answer, and as evidence the sentences of the passage that it rests on, "
        "copied letter by letter and separated by |.",
    ),
    Instruction(
        r"repeats the question",
        "Do what the change says: the new question must need something of the passage that the old one did not.",
    ),
    Instruction(
        r"name the subject|pronoun|names nothing|points at|the model answers",
        "Change the question as the change says and name every thing in full, so that a stranger understands it. The "
        "passage must state the new answer.",
    ),
)

COMPILING = Compiling(STEP, examples, worth, INSTRUCTIONS, deviation=0.3, asks_model=True)
