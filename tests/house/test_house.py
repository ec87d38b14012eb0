"""Extension points: each toy is one file in this folder and one row of a table."""

import json
from pathlib import Path
from typing import Any

import pytest
import scripted_program
import scripted_run
from toy_evolution import EVOLUTION
from toy_export import EXPORT
from toy_recipe import RECIPE

from groundset import commands
from groundset.engine.config import make_config
from groundset.engine.generation import run_generation
from groundset.engine.models import Openers
from groundset.sets.exports import EXPORTS
from programs.errors import InputError
from programs.evolutions import EVOLUTIONS
from programs.recipes import RECIPES
from programs.steps import STEPS


def run(folder: Path, engine: Any = None, **options: Any) -> list[dict[str, Any]]:
    """Make samples from a few documents with scripted models, like `groundset generate`."""
    docs = scripted_run.write_documents(folder / "docs", documents=3, paragraphs=2)
    (docs / "ferry.md").write_text(f"# Henn ferry\n\n{scripted_program.TEXT}\n")
    config = make_config({"documents": (docs,), "chunk_size": 300, "min_length": 50, **options})
    opener = scripted_run.lm_opener(engine or scripted_run.ScriptedEngine())
    critics = dict.fromkeys(STEPS, scripted_program.ScriptedCritic())
    openers = Openers(opener, scripted_run.Encoder, lambda spec, **parts: critics)
    result = run_generation(config, folder / "run", openers=openers)
    assert result.ending == "complete"
    return [json.loads(line) for line in (folder / "run" / "samples.jsonl").read_text().splitlines()]


@pytest.fixture
def row(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that adds a row to a table for one test."""
    return lambda table, name, row: monkeypatch.setitem(table, name, row)


def test_toy_evolution(tmp_path: Path, row: Any) -> None:
    with pytest.raises(InputError, match="no evolution is called 'by_name'"):
        run(tmp_path, size=1, mix="by_name=1")
    row(EVOLUTIONS, EVOLUTION.name, EVOLUTION)
    engine = scripted_program.ScriptedEngine({"compress": "x" * 400})
    (sample,) = run(tmp_path, engine, size=1, mix="by_name=1", max_rank=0)
    assert sample["evolution"] == "by_name"
    assert sample["question"] == f"According to Henn ferry, o{scripted_program.GOOD[1:]}"
    assert "by_name" in [step["step"] for step in sample["trail"]]


def test_toy_recipe(tmp_path: Path, row: Any) -> None:
    row(RECIPES, RECIPE.name, RECIPE)
    samples = run(tmp_path, size=3, recipe="pair", least_similarity=0)
    assert len(samples) == 3
    for sample in samples:
        assert sample["evolution"] == "pair"
        first, second = (context["chunk_id"] for context in sample["contexts"])
        assert first != second
        assert sample["retrieval_gt"] == [[first], [second]]
        assert [step["step"] for step in sample["trail"]] == ["chunk", "chunk", "multi_context", "judge"]
    record = json.loads((tmp_path / "run" / "run.json").read_text())
    assert record["configuration"]["least_similarity"] == 0
    assert "mix" not in record["configuration"]


def test_recipe_options_are_separate(row: Any, capsys: pytest.CaptureFixture[str]) -> None:
    row(RECIPES, RECIPE.name, RECIPE)
    with pytest.raises(InputError, match="--mix"):
        make_config({"documents": (Path("docs"),), "recipe": "pair", "mix": "simple=1"})
    with pytest.raises(SystemExit):
        commands.main(["generate", "--help"])
    assert "--least-similarity" in capsys.readouterr().out


def test_toy_export(
    tmp_path: Path, row: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    row(RECIPES, RECIPE.name, RECIPE)
    row(EXPORTS, EXPORT.name, EXPORT)
    samples = run(tmp_path, size=2, recipe="pair")
    monkeypatch.setattr(commands.privacy, "set_defaults", lambda **kwargs: None)
    out = tmp_path / "lines"
    with pytest.raises(SystemExit) as left:
        commands.main(["export", str(tmp_path / "run"), "--format", "lines", "--out", str(out)])
    assert left.value.code == 0
    assert (out / "questions.txt").read_text().splitlines() == [sample["question"] for sample in samples]
