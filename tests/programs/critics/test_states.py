"""Compiled states: the same bytes again, and never half a state."""

import json
from pathlib import Path
from typing import Any

import dspy
import pytest

from optimizers.fit_critic import thresholds_of
from optimizers.states import state_text
from programs.critics.heads import CriticHeads
from programs.critics.linear import LinearHead
from programs.critics.states import CompiledState, dspy_version, read_state, read_states, signature_hash
from programs.errors import StateError
from signatures import JudgeQuestion, ScoreChunk


def state() -> CompiledState:
    head = LinearHead(weights={"words": (1.0, 2.0, 3.0)}, bias=0.1, vocabulary=frozenset({"b", "a", "c"}))
    return CompiledState(
        step="judge",
        model="head",
        model_sha256="ab",
        optimizer="fit-head",
        signature=signature_hash(JudgeQuestion),
        dspy=dspy_version(),
        predictor=thresholds_of(JudgeQuestion, 0.37),
        heads=CriticHeads(step="judge", heads={"fit": head}),
        threshold=0.37,
    )


def test_a_state_comes_back_as_it_was_in_the_same_bytes(tmp_path: Path) -> None:
    first, second = tmp_path / "judge.json", tmp_path / "again.json"
    first.write_text(state_text(state()), encoding="utf-8")
    second.write_text(state_text(read_state(first, JudgeQuestion)), encoding="utf-8")
    assert first.read_bytes() == second.read_bytes()
    assert read_states(tmp_path, {"judge": JudgeQuestion, "chunk": ScoreChunk}) == {"judge": state()}
    predict = dspy.Predict(JudgeQuestion)
    predict.load_state(state().predictor)
    assert predict.fields["fit"]["threshold"] == 0.37


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [("signature", "0" * 16, "signature"), ("dspy", "3.1", "version of DSPy"), ("version", 9, "layout")],
)
def test_a_state_for_something_else_is_refused(tmp_path: Path, field: str, value: object, said: str) -> None:
    file = tmp_path / "judge.json"
    file.write_text(state_text(state().model_copy(update={field: value})), encoding="utf-8")
    with pytest.raises(StateError, match=f"another {said}.*--compiled none"):
        read_state(file, JudgeQuestion)


@pytest.mark.parametrize(
    ("predictor", "said"),
    [
        ({"lm": {"model": "openai/evil", "api_base": "http://evil.example"}}, "names a language model of its own"),
        ({"lm": "openai/evil"}, "names a language model of its own.*set `lm` in its predictor to null"),
        ({"demos": [{"question": "Who?", "lm": {"model": "openai/evil"}}]}, "names a language model of its own"),
        ({"fields": {"fit": {"deeper": [[{"lm": {}}]]}}}, "names a language model of its own"),
        ({"config": {"api_base": "http://evil.example"}}, "its predictor holds config, which no compile writes"),
    ],
)
def test_a_state_that_would_ask_another_model_is_refused(tmp_path: Path, predictor: dict[str, Any], said: str) -> None:
    file, whole = tmp_path / "judge.json", state()
    file.write_text(state_text(whole.model_copy(update={"predictor": {**whole.predictor, **predictor}})))
    with pytest.raises(StateError, match=rf"judge\.json: {said}") as caught:
        read_states(tmp_path, {"judge": JudgeQuestion})
    assert caught.value.exit_code == 2


def test_a_state_lies_in_the_file_of_its_step(tmp_path: Path) -> None:
    file = tmp_path / "judge.json"
    for step, said in (("chunk", "holds the state of 'chunk'"), ("../../x", "no step is called '../../x'; there are")):
        file.write_text(state_text(state().model_copy(update={"step": step})))
        with pytest.raises(StateError, match=rf"judge\.json: {said}"):
            read_state(file, JudgeQuestion)
    file.write_text(state_text(state().model_copy(update={"model": ".."})))
    with pytest.raises(StateError, match=r"judge\.json: no model is called '\.\.'"):
        read_state(file, JudgeQuestion)


def test_a_file_that_is_no_state_is_named(tmp_path: Path) -> None:
    file = tmp_path / "judge.json"
    file.write_text(json.dumps({"step": "judge"}), encoding="utf-8")
    with pytest.raises(StateError, match=r"judge\.json: no compiled state"):
        read_state(file, JudgeQuestion)
    with pytest.raises(StateError, match="No such file"):
        read_state(tmp_path / "none.json", JudgeQuestion)


def test_the_hash_of_a_signature_changes_with_what_it_asks() -> None:
    assert signature_hash(JudgeQuestion) == signature_hash(JudgeQuestion)
    assert signature_hash(JudgeQuestion) != signature_hash(ScoreChunk)
    assert signature_hash(JudgeQuestion.with_instructions("Judge.")) != signature_hash(JudgeQuestion)
