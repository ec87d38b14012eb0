"""Tasks: what an optimizer needs to compile a step or a recipe, as plain objects of DSPy."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dspy

from groundset.optimizers.examples import examples, is_complete, spread
from groundset.optimizers.labels import SPLITS, ChunkLabel, Split, read_rows
from groundset.optimizers.metrics import METRICS, Judge
from groundset.programs.chunks import SeveralChunks
from groundset.programs.errors import CompileError, InputError
from groundset.programs.onechunk import OneChunk
from groundset.programs.step import STEPS, step

# The recipes that can be compiled as a whole: their program, and whether it takes several passages.
PROGRAMS: dict[str, tuple[Callable[[], dspy.Module], bool]] = {
    "evolved": (OneChunk, False),
    "single": (OneChunk, False),
    "multi": (SeveralChunks, True),
}
# Steps whose questions a judge decides about.
_WRITE = ("ask", "combine", "ask_profiled", "fact", "revise", "reword")
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
    return name in PROGRAMS or name in _WRITE


def task(
    name: str,
    files: Sequence[Path],
    *,
    own: Sequence[
        Path
    ] = (),  # those whose rows come first in each split, so that ``rows`` does not leave them out
    judge: Judge | None = None,  # decides about what is written
    rows: int | None = None,  # the most of each split
    seed: int = 0,  # of their order
) -> CompileTask:
    """Return the task of a step or a recipe, with the examples in files of labels and gold rows.

    Raises:
        InputError: there is no such step or recipe.
        LabelError: a file cannot be read, or a row is wrong.
        CompileError: a split has no examples.
    """
    if name not in STEPS and name not in PROGRAMS:
        raise InputError(
            f"STEP {name}: there is no such step or recipe; choose from"
            f" {', '.join((*STEPS, *PROGRAMS))}"
        )
    found = examples(name, read_rows(files)) if name in STEPS else _passages(name, files)
    first = {row.id for row in read_rows(own)}
    splits: dict[Split, list[dspy.Example]] = {}
    for split in SPLITS:
        of_split = [example for example in found if example.split == split]
        complete = [
            example for example in of_split if name not in STEPS or is_complete(name, example)
        ]
        shuffled = spread(
            complete if split == "train" and len(complete) >= _FEWEST else of_split, seed=seed
        )
        splits[split] = sorted(shuffled, key=lambda example: example.id not in first)
    if missing := [split for split, of_split in splits.items() if not of_split]:
        raise CompileError(
            f"there are no {' and no '.join(missing)} rows for {name}; add some with --labels"
        )
    metric = METRICS[name if name in STEPS else "program"]
    program: Any = step(name) if name in STEPS else PROGRAMS[name][0]()
    train, dev, test = (splits[split][:rows] for split in SPLITS)
    return CompileTask(
        name, program, train, dev, test, metric if judge is None else metric.using(judge)
    )


def _passages(name: str, files: Sequence[Path]) -> list[dspy.Example]:
    """Return the good chunks of labels as inputs of a recipe; neighbours in a document where it
    takes several.
    """
    chunks = [row for row in read_rows(files) if isinstance(row, ChunkLabel) and row.good]
    found = examples("chunk", chunks)
    if not PROGRAMS[name][1]:
        return [_inputs(each, passage=each.passage, topic=each.topic) for each in found]
    pairs = [
        (one, two)
        for one, two in zip(found, found[2:], strict=False)
        if one.document == two.document
    ]
    return [
        _inputs(one, passages=[one.passage, two.passage], topics=[one.topic, two.topic])
        for one, two in pairs
    ]


def _inputs(example: dspy.Example, **inputs: Any) -> dspy.Example:
    kept = {name: example[name] for name in ("id", "split", "document", "language")}
    return dspy.Example(**kept, group="", **inputs).with_inputs(*inputs)
