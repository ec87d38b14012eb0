"""Runs with a panel and with other wordings of answers, from the command line, with scripted language models."""

import json
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from dspy.lm15 import Request
from free_writer import Writer, write_documents
from scripted_run import CRITICS, Encoder, lm_opener

from groundset import commands
from groundset.engine import making
from groundset.engine.generation import run_generation
from groundset.engine.models import Openers
from groundset.run import Run
from programs.errors import EngineError

OPTIONS = ("--parser", "none", "--chunk-size", 600, "--min-length", 50, "--no-track")


class Panelist(Writer):
    """Writes as its parent does; refuses drafts about some place, and fails at one call."""

    def __init__(self, refuses: str = "nothing", fails_at: int = 0) -> None:
        super().__init__()
        self.refuses, self.fails_at = refuses, fails_at
        self.reviews: list[str] = []

    def complete(self, request: Request) -> Any:
        if len(self.asked) + 1 == self.fails_at:
            raise EngineError("the server is gone")
        return super().complete(request)

    def answer(self, system: str, shown: str) -> str:
        if not system.startswith("Decide, as one of three"):
            return super().answer(system, shown)
        self.reviews.append(shown)
        return "NOT APPROVED" if self.refuses in shown.rsplit("\nQuestion: ", 1)[1] else "Approved: it is so - yes, 90"


class Made(NamedTuple):
    status: int
    err: str
    samples: list[dict[str, Any]]
    rejects: list[dict[str, Any]]


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    return write_documents(tmp_path / "docs")


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Any:
    """Run `groundset generate` in this process; ``judge`` is the model of --critic-lm, ``critics`` replaces critics."""
    monkeypatch.setattr(commands.privacy, "set_defaults", lambda **kwargs: None)

    def run(writer: Writer, out: Path, *options: object, judge: Any = None, critics: Any = None) -> Made:
        def open_model(spec: str, **settings: Any) -> Any:
            return lm_opener(judge if spec == "judge" else writer)(spec, **settings)

        openers = Openers(open_model, Encoder, critics and (lambda spec, **parts: critics))
        monkeypatch.setattr(making, "run_generation", partial(run_generation, openers=openers))
        with pytest.raises(SystemExit) as ended:
            commands.main(["generate", *map(str, options), "--out", str(out), *map(str, OPTIONS), "--lm", "writer"])
        files = [out / name for name in ("samples.jsonl", "rejects.jsonl")]
        rows = [
            [json.loads(line) for line in file.read_text("utf-8").splitlines()] if file.exists() else []
            for file in files
        ]
        return Made(int(ended.value.code or 0), capsys.readouterr().err, *rows)

    return run


def panel_records(row: dict[str, Any]) -> list[dict[str, Any]]:
    return [record for record in row["trail"] if record["step"] == "panel"]


def test_votes_are_in_the_trail_and_refusals_among_the_rejects(run: Any, docs: Path, tmp_path: Path) -> None:
    writer = Panelist(refuses="Orsle")
    made = run(writer, tmp_path / "run", docs, "--size", 6, "--mix", "simple=1", "--panel")
    assert made.status == 0, made.err
    assert len(made.samples) == 6
    for row in made.samples:
        assert [record["verdict"] for record in panel_records(row)] == ["good"] * 3
        assert {record["output"]["round"] for record in panel_records(row)} == {1}
        assert "Orsle" not in row["question"]
    refused = [row for row in made.rejects if row["step"] == "panel"]
    assert refused
    assert all("Orsle" in row["question"] and "3 of 3 critics refused" in row["reason"] for row in refused)
    assert json.loads((tmp_path / "run" / "run.json").read_text())["configuration"]["panel"] is True


@pytest.mark.parametrize("recipe", ["evolved", "single", "multi", "roundtrip"])
def test_every_recipe_and_every_evolution_passes_the_panel(run: Any, docs: Path, tmp_path: Path, recipe: str) -> None:
    made = run(Panelist(), tmp_path / "run", docs, "--size", 3, "--recipe", recipe, "--panel")
    assert made.status == 0, made.err
    assert len(made.samples) == 3
    assert all(len(panel_records(row)) >= 3 for row in made.samples)
    refused = run(Panelist(refuses=""), tmp_path / "refused", docs, "--size", 1, "--recipe", recipe, "--panel")
    assert (refused.status, refused.samples) == (3, [])
    assert "panel" in {row["step"] for row in refused.rejects}


def test_default_run_has_neither_votes_nor_wordings(run: Any, docs: Path, tmp_path: Path) -> None:
    writer = Panelist()
    made = run(writer, tmp_path / "run", docs, "--size", 3)
    assert writer.reviews == []
    assert not any(panel_records(row) or "answer_variants" in row["metadata"] for row in made.samples)


def test_panel_asks_the_critic_lm_beside_a_head(run: Any, docs: Path, tmp_path: Path) -> None:
    writer, judge = Panelist(), Panelist()
    options = ("--size", 2, "--mix", "simple=1", "--mode", "free", "--critic", "head", "--critic-lm", "judge")
    made = run(
        writer, tmp_path / "run", docs, *options, "--panel", judge=judge, critics={**CRITICS, "agree": CRITICS["judge"]}
    )
    assert made.status == 0, made.err
    assert writer.reviews == []
    assert len(judge.reviews) == len(judge.asked) >= 6
    alone = run(writer, tmp_path / "other", docs, *options, judge=judge)
    assert (alone.status, "--critic-lm judge: the critic head asks no language model" in alone.err) == (2, True)


def test_run_with_a_panel_resumes_without_repeating_calls(run: Any, docs: Path, tmp_path: Path) -> None:
    options = (docs, "--size", 4, "--mix", "simple=1", "--panel", "--answer-variants", 2)
    whole = run(Panelist(), tmp_path / "whole", *options)
    calls = json.loads((tmp_path / "whole" / "run.json").read_text())["calls"]
    interrupted = run(Panelist(fails_at=calls // 2), tmp_path / "run", *options)
    assert interrupted.status == 1
    again = Panelist()
    again.known = {row["question"]: (row["answer"], [row["answer"]]) for row in whole.samples}
    resumed = run(again, tmp_path / "run", *options)
    assert resumed.status == 0, resumed.err
    assert resumed.samples == whole.samples
    assert len(again.asked) <= calls - calls // 2 + 1
    without = run(Panelist(), tmp_path / "run", *(option for option in options if option != "--panel"))
    assert (without.status, "created with --panel True (now False)" in without.err) == (2, True)
    fewer = run(Panelist(), tmp_path / "run", *options[:-2])
    assert (fewer.status, "created with --answer-variants 2 (now 0)" in fewer.err) == (2, True)


def test_wordings_become_reference_answers(run: Any, docs: Path, tmp_path: Path) -> None:
    import pandas as pd

    made = run(Panelist(), tmp_path / "run", docs, "--size", 3, "--answer-variants", 2)
    assert made.status == 0, made.err
    for row in made.samples:
        assert row["metadata"]["answer_variants"] == [f"It was {row['answer']}."]
        (record,) = [record for record in row["trail"] if record["step"] == "vary" and record["verdict"] == "good"][-1:]
        assert record["output"] == {"wording": f"It was {row['answer']}."}
    with pytest.raises(SystemExit):
        commands.main(["export", str(tmp_path / "run"), "--format", "autorag", "--out", str(tmp_path / "autorag")])
    exported = pd.read_parquet(tmp_path / "autorag" / "qa.parquet")["generation_gt"]
    assert [list(answers) for answers in exported] == [
        [row["answer"], *row["metadata"]["answer_variants"]] for row in made.samples
    ]
    assert Run.loaded(tmp_path / "run").samples[0].answer == made.samples[0]["answer"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--recipe", "roundtrip", "--answer-variants", 2), "--answer-variants"),
        (("--answer-variants", 11), "--answer-variants 11: must be at most 10"),
        (("--answer-variants", "many"), "--answer-variants"),
    ],
)
def test_wrong_values_are_named(run: Any, docs: Path, tmp_path: Path, options: tuple[Any, ...], message: str) -> None:
    made = run(Panelist(), tmp_path / "run", docs, *options)
    assert (made.status, message in made.err) == (2, True)
    assert not (tmp_path / "run").exists()
