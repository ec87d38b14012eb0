"""Compiling a whole recipe as documented, with a scripted model."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dspy
import pytest
from dspy.lm15 import Message, Request, Response, TokenLogprob, TopLogprob, Usage

from groundset.compiling import open_recipe, recipe
from groundset.data_files import data_path
from groundset.engine.compiled import StateConsumers, load_compiled
from groundset.models.specs import LocalSpec, parse_spec
from groundset.runtime.lms import LanguageModel
from optimizers.attempts import attempt_metric
from programs.errors import InputError
from programs.steps import STEPS

ROOT = Path(__file__).parents[3]
SHA = json.loads(data_path("compiled", "head", "judge.json").read_text(encoding="utf-8"))["model_sha256"]
SNIPPET = re.compile(r"^## Compiling a whole recipe$.*?^```python$\n(.*?)^```$", re.DOTALL | re.MULTILINE)
PER_SPLIT = 32  # labelled chunks of a split


def users_of(lm: str) -> StateConsumers:
    spec = parse_spec(lm)
    assert isinstance(spec, LocalSpec)
    return StateConsumers("lm", None, spec.name, spec.sha256)


class CopyingEngine:
    """Completes the opening to a question, answers with the year of the passage, and decides yes."""

    def __init__(self) -> None:
        self.calls = 0
        self.adapters: set[str] = set()

    def complete(self, request: Request) -> Response:
        self.calls += 1
        usage = Usage(input_tokens=1, output_tokens=1, total_tokens=2)
        if request.config.logprobs:
            self.adapters.add(request.config.extensions["adapter"])
            yes = (TokenLogprob(token="yes", logprob=-0.1, top=(TopLogprob(token="yes", logprob=-0.1),)),)
            message = Message.assistant("yes")
            return Response(id=None, model="local/w", message=message, finish_reason="stop", usage=usage, logprobs=yes)
        prompt = request.messages[-1].text or ""
        opening, year = re.search(r"^Opening: (.*)$", prompt, re.MULTILINE), re.search(r"\b1[5-9]\d\d\b", prompt)
        suffix = " exactly" if request.config.seed else ""
        text = f"{opening.group(1)}{suffix}?" if opening else year.group() if year else "not stated"
        return Response(id=None, model="local/w", message=Message.assistant(text), finish_reason="stop", usage=usage)


class AcceptingCritic:
    """Accepts everything."""

    supports_decision_requests = True

    def __call__(self, state: dict[str, Any], questions: dict[str, Any]) -> dict[str, Any]:
        return {name: {"noul": 0.9} for name in questions}


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, word_encoder: Callable[[str], Any]) -> CopyingEngine:
    """Replace the model, the embedder, critics and labels."""
    kept: dict[str, list[str]] = {}
    for line in data_path("labels", "chunks.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        if row["label"] == "good" and row["language"] == "en":
            kept.setdefault(row["split"], []).append(line)
    labels, engine = tmp_path / "labels.jsonl", CopyingEngine()
    labels.write_text("\n".join(line for lines in kept.values() for line in lines[:PER_SPLIT]), encoding="utf-8")
    monkeypatch.setattr(recipe, "label_files", lambda own, kind: [labels])
    monkeypatch.setattr(recipe, "load_embedder", lambda name: word_encoder(SHA))
    monkeypatch.setattr(recipe, "open_critics", lambda name, **parts: dict.fromkeys(STEPS, AcceptingCritic()))
    monkeypatch.setattr(
        recipe,
        "open_lm",
        lambda spec, journal, adapters: LanguageModel(
            engine, model="local/w", name=spec.name, sha256=spec.sha256, journal=journal
        ),
    )
    monkeypatch.chdir(tmp_path)
    return engine


def test_documented_example_runs(engine: CopyingEngine, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (snippet,) = SNIPPET.findall((ROOT / "docs" / "compilation.md").read_text(encoding="utf-8"))
    assert len(snippet.splitlines()) <= 16
    exec(snippet, {})
    before, after = map(float, capsys.readouterr().out.split("\n")[-2].split())
    assert 0 < before <= 100
    assert 0 < after <= 100
    assert engine.calls
    shipped = load_compiled("shipped", users_of("qwen2.5-coder-0.5b"))
    assert engine.adapters == {shipped.adapters["sound"]}
    assert (tmp_path / "compiled" / "calls.sqlite").is_file()


def test_written_states_are_found_by_load_compiled(engine: CopyingEngine, tmp_path: Path) -> None:
    tiny = "smollm2-135m"
    with open_recipe("single", tiny, journal=tmp_path / "calls.sqlite", candidates=1) as opened:
        assert {split: len(rows) > 1 for split, rows in opened.examples.items()} == dict.fromkeys(
            ("train", "dev", "test"), True
        )
        assert opened.write(opened.program, tmp_path / "out") == []
        optimizer = dspy.BootstrapFewShot(metric=attempt_metric, max_labeled_demos=0, max_bootstrapped_demos=1)
        better = optimizer.compile(opened.program, trainset=opened.examples["train"])
        files = opened.write(better, tmp_path / "out")
    assert tmp_path / "out" / tiny / "question.json" in files
    compiled = load_compiled(str(tmp_path / "out"), users_of(tiny))
    assert compiled.record()["question"] == {"model": tiny, "optimizer": "whole-recipe"}
    demos = compiled.predictors["question"]["demos"]
    assert demos[-1]["augmented"]
    assert {demo["language"] for demo in demos} >= {"en", "de"}
    assert compiled.states["question"].record["recipe"] == "single"


def test_unknown_recipe_is_rejected(tmp_path: Path) -> None:
    with (
        pytest.raises(InputError, match="unknown recipe double"),
        open_recipe("double", "x", journal=tmp_path),
    ):
        pass
