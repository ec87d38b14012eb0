"""Compiled states: what DSPy saves is taken, anything else is refused in one line."""

import json
from pathlib import Path

import dspy
import pytest
from refusal import refuses
from scripted import scripted_lm

from groundset.options import named
from groundset.programs.errors import StateError
from groundset.programs.onechunk import OneChunk
from groundset.programs.step import STEPS
from groundset.run.compiled import Compiled, load_compiled, read_own, read_states


@pytest.fixture
def saved(tmp_path) -> Path:
    """The state of a plain predictor of the judge."""
    predictor = dspy.Predict(STEPS["judge"].signature.with_instructions("Judge like an owl."))
    predictor.demos = [dspy.Example(passage="p", question="q?", reason="r", answer="a", clear=True)]
    predictor.lm = dspy.LM(
        "openai/elsewhere", api_base="http://elsewhere.example", api_key="secret"
    )
    file = tmp_path / "states" / "judge.json"
    file.parent.mkdir()
    predictor.save(file)
    return file


def test_a_state_may_write_fewer_outputs(saved):
    state = json.loads(saved.read_text())
    *inputs, _, answer, independent, clear, answerable, _ = state["signature"]["fields"]
    state["signature"]["fields"] = [*inputs, independent, clear, answerable, answer]
    state["config"] = {"adapter": "judge", "logprobs": 5}
    saved.write_text(json.dumps(state))
    program = OneChunk()
    Compiled(read_states(saved.parent)).apply([program])
    assert list(program.judge.signature.output_fields) == [
        "independent",
        "clear",
        "answerable",
        "answer",
    ]
    assert program.judge.signature.fields["clear"].annotation is bool
    assert program.judge.config["logprobs"] == 5
    state["signature"]["fields"] = [*inputs, clear, clear]
    saved.write_text(json.dumps(state))
    with refuses("not those of the step judge", StateError):
        read_states(saved.parent)


@pytest.mark.parametrize(
    ("name", "edit", "message"),
    [
        ("judge.json", lambda state: [state], "not a state that DSPy saves"),
        ("ask.json", lambda state: state, "not those of the step ask"),
        ("owl.json", lambda state: state, "there is no step owl"),
        (
            "more.json",
            lambda state: {"a.judge": state, "b.judge": state | {"demos": []}},
            "another state of the step",
        ),
    ],
)
def test_anything_else_is_refused_in_one_line(saved, name, edit, message):
    state = {
        key: value for key, value in json.loads(saved.read_text()).items() if key != "metadata"
    }
    saved.unlink()
    file = saved.with_name(name)
    file.write_text(json.dumps(edit(state)))
    with refuses(message, StateError) as error:
        read_states(file.parent)
    assert str(file) in str(error.value)


def test_the_digest_is_that_of_what_is_served(saved):
    first = load_compiled(str(saved.parent), "any")
    state = json.loads(saved.read_text())
    saved.write_text(json.dumps(state | {"lm": None}))
    assert load_compiled(str(saved), "any").digest == first.digest
    saved.write_text(json.dumps(state | {"demos": []}))
    assert load_compiled(str(saved), "any").digest != first.digest
    assert load_compiled("none", "any").states == {}
    with refuses("there is no such folder or file", StateError):
        load_compiled("nowhere", "any")


def test_demos_that_show_no_output_are_left_out_and_counted(tmp_path):
    """The snippet of docs/dspy.md: rows without outputs become demos of every predictor."""
    lm, _ = scripted_lm({"ask": "Question: none\nAnswer: a list of names"})
    rows = [dspy.Example(passage=f"Pier {n}.", topic="").with_inputs("passage") for n in range(3)]
    optimizer = dspy.BootstrapFewShot(max_bootstrapped_demos=1)
    with dspy.context(lm=lm):
        optimizer.compile(OneChunk(), trainset=rows).save(tmp_path / "program.json")
    own = read_own(str(tmp_path / "program.json"))
    assert own.blank == dict.fromkeys(("score", "ask", "judge", "compare", "revise"), 2)
    assert own.states["judge"].demos == []
    assert [demo["question"] for demo in own.states["ask"].demos] == ["none"]


def test_a_program_itself_is_a_state():
    program = OneChunk()
    program.judge.signature = program.judge.signature.with_instructions("Judge like an owl.")
    own = read_own(named(program))
    assert own.states.keys() == {"judge"}
    assert own.states["judge"].signature.instructions == "Judge like an owl."
