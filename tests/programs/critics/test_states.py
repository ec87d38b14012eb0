"""Reading, writing and validating compiled states."""

import json
import math
from pathlib import Path
from typing import Any

import dspy
import pytest

from optimizers.fit_critic import thresholds_of
from optimizers.report import state_text
from programs.critics.heads import CriticHeads
from programs.critics.linear import LinearHead
from programs.critics.states import CompiledState, dspy_version, read_state, read_states, signature_hash
from programs.errors import StateError
from signatures.chunk import ScoreChunk
from signatures.judge import JudgeQuestion


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


def test_state_round_trip_is_byte_identical(tmp_path: Path) -> None:
    first, second = tmp_path / "judge.json", tmp_path / "again.json"
    first.write_text(state_text(state()), encoding="utf-8")
    second.write_text(state_text(read_state(first, JudgeQuestion)), encoding="utf-8")
    assert first.read_bytes() == second.read_bytes()
    assert read_states(tmp_path, {"judge": JudgeQuestion, "chunk": ScoreChunk}) == {"judge": state()}
    predict = dspy.Predict(JudgeQuestion)
    predict.load_state(state().predictor)
    assert predict.fields["fit"]["threshold"] == 0.37


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [("signature", "0" * 16, "signature"), ("dspy", "3.1", "version of DSPy"), ("version", 9, "layout")],
)
def test_state_of_other_signature_or_version_is_refused(
    tmp_path: Path, field: str, value: object, message: str
) -> None:
    file = tmp_path / "judge.json"
    file.write_text(state_text(state().model_copy(update={field: value})), encoding="utf-8")
    with pytest.raises(StateError, match=f"another {message}.*--compiled none"):
        read_state(file, JudgeQuestion)


@pytest.mark.parametrize(
    ("predictor", "message"),
    [
        ({"lm": {"model": "openai/evil", "api_base": "http://evil.example"}}, "names a language model of its own"),
        ({"lm": "openai/evil"}, "names a language model of its own.*set `lm` in its predictor to null"),
        ({"demos": [{"question": "Who?", "lm": {"model": "openai/evil"}}]}, "names a language model of its own"),
        ({"fields": {"fit": {"deeper": [[{"lm": {}}]]}}}, "names a language model of its own"),
        (
            {"config": {"api_base": "http://evil.example"}},
            r"not a valid state \(predictor\.config: Extra inputs",
        ),
    ],
)
def test_state_with_a_language_model_is_refused(tmp_path: Path, predictor: dict[str, Any], message: str) -> None:
    file, whole = tmp_path / "judge.json", state()
    file.write_text(state_text(whole.model_copy(update={"predictor": {**whole.predictor, **predictor}})))
    with pytest.raises(StateError, match=rf"judge\.json: {message}") as caught:
        read_states(tmp_path, {"judge": JudgeQuestion})
    assert caught.value.exit_code == 2


def changed(at: str, value: object) -> str:
    """Return the text of a state with another value at a path, which may be NaN."""
    content = json.loads(state_text(state()))
    *path, last = at.split(".")
    parent = content
    for name in path:
        parent = parent[name]
    parent[last] = value
    return json.dumps(content).replace('"1e400"', "1e400")


POINT = {"threshold": 0.4, "accepted": 9, "good": 8, "precision": 0.9, "low": 0.6, "high": 0.95, "recall": 1.0}
WEIGHTS = "heads.heads.fit.weights"


@pytest.mark.parametrize(
    ("at", "value", "message"),
    [
        ("heads.heads.fit.bias", math.nan, r"heads\.heads\.fit\.bias"),
        ("heads.heads.fit.bias", "1e400", r"heads\.heads\.fit\.bias"),
        ("heads.heads.fit.bias", 1e300, r"heads\.heads\.fit\.bias"),
        ("heads.heads.fit.bias", "0.5", r"heads\.heads\.fit\.bias"),
        ("heads.heads.fit.bias", True, r"heads\.heads\.fit\.bias"),
        ("heads.heads.fit.grams", {"a": -math.inf}, r"heads\.heads\.fit\.grams\.a"),
        (f"{WEIGHTS}.words", [1, 2, 0], r"weights\.words\.2"),
        (f"{WEIGHTS}.words", [1, 2, -1], r"weights\.words\.2"),
        (f"{WEIGHTS}.words", [1, 2], r"weights\.words\.2"),
        (WEIGHTS, {"moonlight": [1, 2, 3]}, "fit: the step judge has no feature moonlight"),
        (WEIGHTS, {"embedding": [1, 2, 3]}, "need a feature embedding"),
        ("heads.heads.fit.embedding", [0.5], "need a feature embedding"),
        ("heads.step", "chunk", "its heads are for the step 'chunk'"),
        ("heads.heads.moon", {"weights": {}, "bias": 0}, "has no output moon"),
        ("threshold", math.nan, "threshold"),
        ("threshold", 1.5, "threshold"),
        ("target_precision", -0.1, "target_precision"),
        ("nearest", 0, "nearest"),
        ("curve", [{**POINT, "accepted": -1}], r"curve\.0\.accepted"),
        ("curve", [{**POINT, "precision": math.nan}], r"curve\.0\.precision"),
        ("kinds", {"time": {**POINT, "high": math.inf}}, r"kinds\.time\.high"),
        ("kinds", {"time": {**POINT, "low": 0.93}}, "the precision is outside its interval"),
        ("kinds", {"time": {**POINT, "good": 10}}, "more rows are good than accepted"),
        ("blend", {"asked": "clear", "floor": math.nan, "intercept": 0, "head": 1, "model": 1}, r"blend\.floor"),
        ("blend", {"asked": "moon", "floor": 0.2, "intercept": 0, "head": 1, "model": 1}, "has no output 'moon'"),
        ("record", {"deep": [{"er": math.nan}]}, "NaN or infinity"),
        ("record", {"deep": [{"er": "1e400"}]}, "NaN or infinity"),
        ("predictor.fields.fit.threshold", math.nan, "NaN or infinity"),
        ("predictor.fields.fit.threshold", 1.5, r"Threshold for 'fit' must be in \[0, 1\]"),
        ("predictor.fields", {"moon": {"threshold": 0.5}}, "unsupported outputs"),
        ("predictor.signature", {"instructions": 5, "fields": []}, r"signature\.instructions"),
        ("predictor.signature", {"instructions": "Judge.", "fields": [None]}, r"signature\.fields\.0"),
        ("predictor.signature", {"instructions": "Judge.", "fields": []}, "0 fields, the step has 6"),
        ("predictor.demos", {"passage": "It rains."}, r"predictor\.demos"),
        ("predictor.demos", [7], r"predictor\.demos\.0"),
        ("predictor.demos", [{"passage": {"deep": "er"}}], r"demos\.0: passage"),
        ("predictor.demos", [{"passage": "It rains.", "moon": "full"}], r"demos\.0: .*no field moon"),
        ("predictor.demos", [{"passage": "It rains.", "clear": "perhaps"}], r"demos\.0: clear"),
    ],
)
def test_invalid_state_error_names_file_and_field(tmp_path: Path, at: str, value: object, message: str) -> None:
    file = tmp_path / "judge.json"
    file.write_text(changed(at, value), encoding="utf-8")
    with pytest.raises(StateError, match=rf"judge\.json: not .*{message}") as caught:
        read_states(tmp_path, {"judge": JudgeQuestion})
    assert caught.value.exit_code == 2
    assert "\n" not in str(caught.value)


def test_demos_may_be_partial_and_have_explanations(tmp_path: Path) -> None:
    demo = {"passage": "It rains.", "question": "Does it?", "clear": True, "explanation": "It does.", "always": True}
    file = tmp_path / "judge.json"
    file.write_text(changed("predictor.demos", [{**demo, "language": "en"}]), encoding="utf-8")
    assert read_state(file, JudgeQuestion).predictor["demos"][0]["clear"] is True


def test_state_must_match_file_and_known_step(tmp_path: Path) -> None:
    file = tmp_path / "judge.json"
    for step, message in (
        ("chunk", "contains the state of 'chunk'; rename it to chunk.json"),
        ("../../x", "no step is called '../../x'; there are"),
    ):
        file.write_text(state_text(state().model_copy(update={"step": step})))
        with pytest.raises(StateError, match=rf"judge\.json: {message}"):
            read_state(file, JudgeQuestion)
    file.write_text(state_text(state().model_copy(update={"model": ".."})))
    with pytest.raises(StateError, match=r"judge\.json: no model is called '\.\.'"):
        read_state(file, JudgeQuestion)


def test_unreadable_state_error_names_file(tmp_path: Path) -> None:
    file = tmp_path / "judge.json"
    file.write_text(json.dumps({"step": "judge"}), encoding="utf-8")
    with pytest.raises(StateError, match=r"judge\.json: not a compiled state"):
        read_state(file, JudgeQuestion)
    with pytest.raises(StateError, match="No such file"):
        read_state(tmp_path / "none.json", JudgeQuestion)


def test_signature_hash_depends_on_the_prompt() -> None:
    assert signature_hash(JudgeQuestion) == signature_hash(JudgeQuestion)
    assert signature_hash(JudgeQuestion) != signature_hash(ScoreChunk)
    assert signature_hash(JudgeQuestion.with_instructions("Judge.")) != signature_hash(JudgeQuestion)
