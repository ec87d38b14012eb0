"""Gold rows are worth more than silence: for every step and recipe, in every language."""

from collections import defaultdict
from functools import cache
from statistics import fmean

import dspy
import pytest

from groundset.labelling import shipped_files
from groundset.optimizers.examples import examples, is_complete, spread
from groundset.optimizers.labels import read_rows
from groundset.optimizers.metrics import METRICS
from groundset.optimizers.tasks import in_splits, writer_of
from groundset.programs.forms import UNANSWERABLE
from groundset.programs.guided import Guided
from groundset.programs.outcome import outcome
from groundset.programs.step import STEPS, step
from groundset.programs.types import Reject
from groundset.run.recipes import compiled_whole

PROGRAMS = {name: program() for name, program in compiled_whole().items()}
PROGRAMS["guided"] = Guided(None)
ROWS = 24  # of each language
OUTPUTS = {"question": str, "answer": str, "evidence": list[str]}  # of a program
REFUSED = Reject(step="judge", reason="not clear")


@cache
def rows():
    return read_rows(shipped_files())


def written(name, example):
    """Yield what the gold row has, and what programs write that do not read."""
    writer = writer_of(PROGRAMS[name]) if name in PROGRAMS else name
    fields = STEPS[writer].signature.output_fields
    types = OUTPUTS if name in PROGRAMS else {each: fields[each].annotation for each in fields}
    passage = str(example.get("passage") or example.get("passages") or example.get("fact"))
    yield "gold", example.gold[-1] if name in PROGRAMS else example
    for text, yes in (("none", False), ("not stated", False), ("", False), (passage, True)):
        lists = text.split(". ")[:4] if yes else []
        values = {str: text, bool: yes, int: 100 * yes}
        yield (
            "copied" if yes else text,
            {each: values.get(kind, lists) for each, kind in types.items()},
        )
    if demos := step(writer).demos:
        yield "demo", {"evidence": [passage], **demos[0]}


def prediction(name, found):
    if name in PROGRAMS:
        made = {each: found[each] for each in OUTPUTS}
        is_refusal = made["question"] in ("none", "not stated")
        return outcome(rejects=[REFUSED]) if is_refusal else outcome(**made)
    made = {each: found[each] for each in STEPS[name].signature.output_fields}
    return dspy.Prediction(**made)


def test_gold_rows_without_evidence_are_scored_by_what_they_have():
    bare = [row for row in examples("ask", rows()) if "evidence" not in row]
    assert {(row.form, row.split) for row in bare} == {
        (UNANSWERABLE, split) for split in ("train", "dev", "test")
    }
    for row in bare:
        same = {"evidence": row.passage.split(". ")[:1]}
        asked = dspy.Prediction(question=row.question, answer=row.answer, **same)
        assert METRICS["ask"](row, asked) == 1
        other = dspy.Prediction(question=row.question, answer=row.topic, **same)
        assert METRICS["ask"](row, other) < 0.5


@pytest.mark.parametrize("name", [*STEPS, *PROGRAMS])
def test_gold_is_worth_more_than_silence(name):
    if name in PROGRAMS:
        found = in_splits(name, rows(), program=PROGRAMS[name])["test"]
        found = [each for each in found if each.gold]
    else:
        found = [each for each in examples(name, rows()) if is_complete(name, each)]
    for language in {each.language for each in found}:
        scores = defaultdict(list)
        for example in spread([each for each in found if each.language == language])[:ROWS]:
            for kind, values in written(name, example):
                score = METRICS.get(name, METRICS["program"])(example, prediction(name, values))
                scores[kind].append(score)
        means = {kind: fmean(values) for kind, values in scores.items()}
        gold = means.pop("gold")
        assert gold >= 0.8
        assert gold > max(means.values()) + 0.2, (language, means)
