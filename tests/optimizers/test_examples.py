"""Examples of the steps, made from the shipped labels and gold rows."""

import dspy
import pytest
from labelled import question, write

from groundset.labelling import with_own
from groundset.optimizers.examples import examples, is_complete, spread
from groundset.optimizers.labels import Row, read_rows
from groundset.programs.adapter import PLAIN_TEXT
from groundset.programs.forms import EVOLUTIONS, KINDS
from groundset.programs.outcome import AGREE, PREMISE, RESOLVES, SAME_QUESTION
from groundset.programs.recipe import LENGTHS
from groundset.programs.step import STEPS


@pytest.fixture(scope="module")
def rows() -> list[Row]:
    return read_rows(with_own([]))


def of(rows: list[Row], step: str, **facts: object) -> dspy.Example:
    """Return the first example with these facts."""
    return next(
        each
        for each in examples(step, rows)
        if all(each.get(name) == value for name, value in facts.items())
    )


FEW = {
    "combine": 200,
    "keyphrases": 100,
    "evolve": 12,
    "reword": 100,
}


@pytest.mark.parametrize("step", STEPS)
def test_every_step_has_examples_of_every_split_that_can_be_demos(rows, step):
    found = examples(step, rows)
    assert len(found) >= FEW.get(step, 300)
    assert {each.split for each in found} == {"train", "dev", "test"}
    assert len({each.id for each in found}) == len(found)
    signature = STEPS[step].signature
    required = {name for name, field in signature.input_fields.items() if field.is_required()}
    for each in found[:: max(1, len(found) // 50)]:
        assert required <= set(each.inputs().keys()) <= set(signature.input_fields)
        assert each.document
    demo = next(each for each in found if is_complete(step, each))
    turn = PLAIN_TEXT.format(signature, [demo.toDict()], demo.inputs().toDict())[2]
    assert PLAIN_TEXT.parse(signature, turn["content"]).keys() == set(signature.output_fields)


def test_judge_learns_parts_reason_and_answer(rows):
    good = of(rows, "judge", group="ok")
    assert good.independent is True
    assert good.clear is True
    assert good.answerable is True
    assert good.fault == ""
    vague = of(rows, "judge", group="vague")
    assert vague.independent is False
    assert vague.clear is True
    assert vague.fault == "independent"
    assert vague.confidence == 5
    assert of(rows, "judge", group="unanswerable").answer == "not stated"
    twin = next(
        each
        for each in examples("judge", rows)
        if each.id.endswith("-twin") and each.group == "malformed"
    )
    assert twin.answer in twin.passage, "a spoilt question has the answer of the good one"


def test_steps_are_asked_as_in_a_run(rows):
    claims = {AGREE, SAME_QUESTION, RESOLVES, PREMISE}
    assert {each.claim for each in examples("compare", rows)} == claims
    for each in examples("ask", rows):
        assert each.forms == [f"{each.form}: {EVOLUTIONS[each.form].form}"]
        assert each.kinds.split(", ") == [each.kind, *(kind for kind in KINDS if kind != each.kind)]
        assert each.answers in LENGTHS.values()
    assert "[1] " in of(rows, "combine").passages
    assert of(rows, "revise", group="rewrite").change.startswith("Mend this fault")
    assert "conversation" in of(rows, "revise", group="follow_up").change


def test_examples_take_turns_and_are_balanced(rows, tmp_path):
    of_dev = [each for each in examples("judge", rows) if each.split == "dev"]
    first = spread(of_dev)[:28]
    assert sum(each.good for each in first) == 14
    assert len({each.group for each in first}) == 8, "all reasons in turn"
    assert spread(of_dev) == spread(of_dev)
    assert spread(of_dev, seed=1) != spread(of_dev)
    one = read_rows([write(tmp_path / "one.jsonl", [question(1, good=True, split="dev")])])
    assert len(spread(examples("judge", one))) == 1
    not_stated = [each.answer == "not stated" for each in spread(examples("answer", rows))[:60]]
    assert sum(not_stated) <= 15, "else a model learns to say that always"
