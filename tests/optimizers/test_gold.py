"""Gold rows are worth more than silence, for every step and recipe, in every language."""

from collections import defaultdict
from functools import cache
from statistics import fmean
from typing import Any

import dspy
import pytest

from groundset import metrics
from groundset.labelling import shipped_files
from groundset.optimizers.examples import examples, is_complete, spread
from groundset.optimizers.labels import read_rows
from groundset.optimizers.tasks import PROGRAMS, task
from groundset.programs.outcome import outcome
from groundset.programs.step import STEPS, step
from groundset.programs.types import Reject
from groundset.signatures.profile import Clue

ROWS = 40  # of each language
REFUSED = outcome(rejects=[Reject(step="judge", reason="not clear")])
# What a program writes that refuses, writes nothing, or agrees to everything, by type of output.
SILENT: dict[str, dict[Any, Any]] = {
    "refuses": {str: "none", bool: False, int: 0},
    "states nothing": {str: "not stated", bool: False, int: 0},
    "writes nothing": {str: "", bool: False, int: 0},
    "agrees": {str: "yes", bool: True, int: 100},
}


@cache
def rows():
    return read_rows(shipped_files())


def written(name: str, example: dspy.Example) -> dict[str, dspy.Prediction]:
    """Return what the gold row has, and what programs write that do not read."""
    fields = STEPS[name].signature.output_fields
    gold = {field: example[field] for field in fields}
    passage = example.get("passage") or example.get("passages") or example.get("fact", "")
    copied = {str: passage, bool: True, int: 100, list[str]: passage.split(". ")[:4]}
    found = {
        "gold": gold,
        **{
            kind: {field: values.get(info.annotation, []) for field, info in fields.items()}
            for kind, values in {**SILENT, "copies": copied}.items()
        },
    }
    if demos := step(name).demos:
        found["repeats its demo"] = {field: demos[0][field] for field in fields}
    for values in found.values():
        if "clues" in values:
            values["clues"] = [Clue(**clue) for clue in values["clues"] if isinstance(clue, dict)]
    return {kind: dspy.Prediction(**values) for kind, values in found.items()}


def compared(metric, pairs) -> dict[str, float]:
    scores = defaultdict(list)
    for example, found in pairs:
        for kind, prediction in found.items():
            scores[kind].append(metric(example, prediction))
    return {kind: fmean(values) for kind, values in scores.items()}


def check(means: dict[str, float]) -> None:
    gold = means.pop("gold")
    assert gold >= 0.8
    assert gold > max(means.values()) + 0.2, means


@pytest.mark.parametrize("name", STEPS)
def test_of_a_step(name):
    complete = [example for example in examples(name, rows()) if is_complete(name, example)]
    languages = {example.language for example in complete}
    for language in languages:
        of_language = [example for example in complete if example.language == language]
        some = spread(of_language)[:ROWS]
        means = compared(metrics.METRICS[name], ((each, written(name, each)) for each in some))
        print(name, language, len(some), {k: round(v, 2) for k, v in means.items()})
        check(means)


@pytest.mark.parametrize("name", PROGRAMS)
def test_of_a_recipe(name):
    work = task(name, shipped_files(), parts={"parse": lambda _: []} if name == "guided" else {})
    pairs = []
    for example in work.devset[:ROWS]:
        texts = example.get("passages") or [example.passage]
        said = {"question": texts[0], "answer": texts[0], "evidence": texts}
        demo, *_ = step(PROGRAMS[name][1]).demos
        repeated = {"question": demo.question, "answer": demo.answer}
        pairs.append(
            (
                example,
                {
                    "gold": outcome(**example.gold[-1]),
                    "refuses": REFUSED,
                    "writes nothing": outcome(),
                    "copies": outcome(**said),
                    "repeats its demo": outcome(**repeated, evidence=demo.get("evidence", texts)),
                },
            )
        )
    means = compared(work.metric, pairs)
    print(name, {k: round(v, 2) for k, v in means.items()})
    check(means)
