"""Tasks: what an optimizer needs to compile a step or a recipe, as plain objects of DSPy."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import dspy

from groundset.optimizers.examples import examples, is_complete, spread
from groundset.optimizers.labels import SPLITS, GoldRow, Row, Split, read_rows
from groundset.optimizers.metrics import METRICS, NUMBERED, Judge
from groundset.programs.errors import CompileError
from groundset.programs.forms import SIMPLE
from groundset.programs.languages import ENGLISH
from groundset.programs.step import STEPS, step

# Steps whose questions a judge decides about.
_WRITE = ("ask", "evolve", "combine", "fact", "revise", "reword")
_FEWEST = 8  # complete examples; with fewer, examples without all outputs are trained on, too


@dataclass(frozen=True)
class CompileTask:
    """The predictor of a step, or the program of a recipe, with the examples and the metric to
    compile it with.
    """

    name: str
    program: dspy.Module
    # What demos come from; as far as possible with all outputs of the step.
    trainset: list[dspy.Example]
    devset: list[dspy.Example]  # decides between candidates
    testset: list[dspy.Example]  # is reported, and never decides
    metric: Callable[..., Any]


def writes(name: str) -> bool:
    """Return whether a judge decides about what a step or a recipe writes."""
    return name not in STEPS or name in _WRITE


def task(
    name: str,
    files: Sequence[Path],
    *,
    program: dspy.Module | None = None,  # that of a recipe
    own: Sequence[
        Path
    ] = (),  # those whose rows come first in each split, so that ``rows`` does not leave them out
    judge: Judge | None = None,  # decides about what is written
    rows: int | None = None,  # the most of each split
    seed: int = 0,  # of their order
) -> CompileTask:
    """Return the task of a step or a program, with the examples in files of labels and gold rows.

    Raises:
        KeyError: there is no such step.
        LabelError: a file cannot be read, or a row is wrong.
        CompileError: a split has no examples.
    """
    facts: Any = getattr(program, "facts", None)

    def asks(example: dspy.Example) -> bool:
        # Of three passages in four, a guided program asks nothing, whatever its prompts are.
        return facts is None or bool(facts(example.passage, example.topic))

    found = in_splits(name, read_rows(files), program=program, own=read_rows(own), seed=seed)
    splits = {split: list(islice(filter(asks, each), rows)) for split, each in found.items()}
    if missing := [split for split, of_split in splits.items() if not of_split]:
        raise CompileError(
            f"there are no {' and no '.join(missing)} rows for {name}; add some with --labels"
        )
    metric = METRICS[name if name in STEPS else "program"]
    train, dev, test = (splits[split] for split in SPLITS)
    scored = metric if judge is None else metric.using(judge)
    return CompileTask(name, program or step(name), train, dev, test, scored)


def in_splits(
    name: str,
    rows: Sequence[Row],
    *,
    program: dspy.Module | None = None,
    own: Iterable[Row] = (),
    seed: int = 0,
) -> dict[Split, list[dspy.Example]]:
    """Return the examples of a step or a recipe by split, in the order in which they are taken:
    good and bad ones in turn, and of each those of ``own`` rows first.
    """
    first = {row.id for row in own}
    found = examples(name, rows) if program is None else _passages(program, rows, first)
    splits = {split: [each for each in found if each.split == split] for split in SPLITS}
    complete = [
        each
        for each in splits["train"]
        if name not in STEPS
        or is_complete(name, each)
        or (each.id in first and each.get("good") is False)  # what is refused needs no answer
    ]
    if len(complete) >= _FEWEST:
        splits["train"] = complete
    return {split: spread(each, seed=seed, first=first) for split, each in splits.items()}


def fault_of(row: GoldRow) -> str:
    """Return why the metric of its step gives a gold row nothing, as far as code can tell; empty if
    it gives something.
    """
    (example,) = examples(row.step, [row])
    outputs = STEPS[row.step].signature.output_fields
    if not is_complete(row.step, example):
        return ""
    written = dspy.Prediction(**{name: getattr(row, name) for name in outputs})
    judged = METRICS[row.step](example, written, pred_name=row.step)
    return "" if judged.score else str(judged.feedback)


def writer_of(program: dspy.Module) -> str:
    """Return the step whose gold rows a program could write."""
    return next(name for name in ("combine", "fact", "ask") if hasattr(program, name))


def _passages(
    program: dspy.Module, rows: Sequence[Row], own: Collection[str]
) -> list[dspy.Example]:
    """Return passages as inputs of a recipe, with all gold rows of each; beside those that have
    some, own chunks that are good, and all for guided models, which can ask about few.
    """
    writer = writer_of(program)
    found = [row for row in examples(writer, rows) if row.get("form", SIMPLE) == SIMPLE]
    is_guided = writer == "fact"
    if writer != "combine":
        chunks = [row for row in examples("score", rows) if row.good]
        found += [row for row in chunks if is_guided or row.id in own]
    if is_guided:
        found = [row for row in found if row.language == ENGLISH.code]
    groups = defaultdict(list)
    for row in found:
        groups[row.split, row.get("passages") or row.passage].append(row)
    return [_inputs(group) for group in groups.values()]


def _inputs(rows: Sequence[dspy.Example]) -> dspy.Example:
    """Return the example of a recipe for rows of one passage, or of the same ones."""
    first = rows[0]
    kept = {name: first[name] for name in ("id", "split", "document", "language")}
    inputs = {name: first[name] for name in ("passage", "topic", "before") if name in first}
    if "passages" in first:
        pairs = [part.split("\n", 1) for part in NUMBERED.split(first.passages)]
        inputs = {"passages": [text for _, text in pairs]}
        inputs["topics"] = [head.partition("] ")[2] for head, _ in pairs]
    gold = [
        {name: row[name] for name in ("question", "answer")}
        | {"evidence": row.get("evidence", [row.get("fact", "")])}
        for row in rows
        if "answer" in row
    ]
    return dspy.Example(**kept, group="", gold=gold, **inputs).with_inputs(*inputs)
