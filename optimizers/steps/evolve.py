"""Compiling the step ``evolve``: gold questions changed by the evolutions ``conditional`` and ``reasoning``."""

from typing import Any

import dspy

from optimizers.steps.base import Compiling, Instruction, Judges, Rows, Scored, Source
from optimizers.steps.conditional import ConditionalGold
from optimizers.steps.examples import clean_topic, example_row
from optimizers.steps.reasoning import ReasoningGold
from optimizers.steps.worth import score_question_for_answer
from programs.evolutions import EVOLUTIONS
from programs.features import agreement
from programs.modes.free import change_of
from programs.steps.ask import LENGTHS
from programs.steps.evolve import STEP
from programs.text import plain
from programs.written import check_written

_SAME = 0.95  # token F1 from which a question counts as unchanged


def examples(source: Source) -> tuple[Rows, Rows]:
    """Return the gold questions of both evolutions with their passages."""
    rows: Rows = []
    gold: list[ReasoningGold | ConditionalGold] = [*source.gold_of(ReasoningGold), *source.gold_of(ConditionalGold)]
    for row in gold:
        passage = plain(source.texts.get(row.chunk, ""))
        evidence = " | ".join(row.facts)
        if not passage or any(fact not in passage for fact in row.facts):
            continue
        new = row.reasoning_question if isinstance(row, ReasoningGold) else row.conditional_question
        inputs = {
            "topic": clean_topic(row.topic),
            "passage": passage,
            "question": row.question,
            "answer": row.answer,
            "change": change_of(EVOLUTIONS[row.step]),
            "answers": LENGTHS["short"],
        }
        written = example_row(row, passage, inputs, new_question=new, new_answer=row.answer, evidence=evidence)
        rows.append(written)
    return rows, rows


def metric(example: dspy.Example, output: Any, judges: Judges) -> Scored:
    """Return the score of the changed question for its own answer; 0 if it was not changed."""
    question, answer = output.new_question, output.new_answer
    focus, problem = check_written(judges.language_of(example), example.passage, question, answer, output.evidence, "")
    if problem is not None:
        return Scored(0.0, f"{problem[:1].upper()}{problem[1:]}.")
    if agreement(focus.wording, example.question) >= _SAME:
        return Scored(0.0, "It repeats the question instead of changing it.")
    target = example.copy(answer=focus.answer, focus=focus)
    return score_question_for_answer(target, focus.wording, judges)


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

COMPILING = Compiling(STEP, examples, metric, INSTRUCTIONS, deviation=0.3, asks_model=True)
