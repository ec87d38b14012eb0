"""Growth of runs: a larger size extends a run, independently of interruptions."""

import hashlib
import json
import sqlite3
import time
from contextlib import suppress
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import scripted_run
from scripted_run import CRITICS, Encoder, ScriptedEngine, ScriptedProgram, StoppingEngine, lm_opener, write_documents
from started_run import StartedRun

from groundset.data_files import data_path
from groundset.engine.config import make_config
from groundset.engine.generation import RunResult, run_generation
from groundset.engine.models import Openers
from groundset.runtime import parser
from programs.errors import EngineError, InputError, RunMismatchError
from programs.recipes import RECIPES
from programs.types import Attempt, Draft, Observer, Outcome, Reject, StepRecord

_load_parser = cache(parser.load_parser)
RECIPE_NAMES = ("evolved", "single", "multi")


class AskingProgram(ScriptedProgram):
    """Asks about the foci of an attempt; a hash of the answers decides between draft and reject."""

    def forward(self, *, attempt: Attempt, observer: Observer) -> Outcome:
        foci = tuple(focus for context in attempt.contexts for focus in context.foci)
        about = " ".join([*(context.chunk.chunk_id for context in attempt.contexts), *(focus.answer for focus in foci)])
        answers = [self.say(chunk=about, round=attempt.round, number=number).words for number in range(self.calls)]
        drawn = int(hashlib.sha256("".join((*answers, attempt.wanted)).encode()).hexdigest(), 16)
        question, chunk = f"What is {drawn % 10**9} {drawn % 10**5}?", attempt.contexts[0].chunk
        observer(StepRecord(step="question", output={"question": question}))
        refused = Reject(step="judge", reason="not clear", chunk_id=chunk.chunk_id, question=question)
        if drawn % 3 == 0:
            return Outcome(rejects=(refused,), used_foci=foci)
        draft = Draft(
            question=question,
            answer="answer",
            evolution=attempt.wanted,
            contexts=(chunk,),
            relevant=((chunk.chunk_id,),),
            retrieval=self.retriever.rank(question, ((chunk.chunk_id,),)),
            probability=0.75,
        )
        return Outcome(drafts=(draft,), used_foci=foci, exhausted=drawn % 7 == 0)


def recipe_of(name: str) -> Any:
    """Return a recipe with its real agenda and shares, and a scripted program."""
    return replace(RECIPES[name], program=lambda tools, options: AskingProgram(tools.retriever))


@pytest.fixture(scope="module")
def docs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three sample documents with easy foci and related chunks."""
    folder = tmp_path_factory.mktemp("docs")
    for name in ("kestrin-cooperative-report.md", "saltcrown-thistle.md", "tollvik-henn-ferry.md"):
        (folder / name).write_bytes((data_path("samples") / name).read_bytes())
    return folder


@pytest.fixture(autouse=True)
def one_parser(monkeypatch: pytest.MonkeyPatch) -> None:
    """Load the parser once for all tests of this module."""
    monkeypatch.setattr(parser, "load_parser", _load_parser)


def run(docs: Path, out: Path, recipe: str, engine: Any = None, **options: Any) -> RunResult:
    near = {"similarity": -1, "near": 40} if recipe == "multi" else {}
    given = {"documents": (docs,), "chunk_size": 500, "recipe": recipe, **near, **options}
    openers = Openers(lm_opener(engine or ScriptedEngine()), Encoder, lambda spec, **parts: CRITICS)
    return run_generation(make_config(given), out, openers=openers, recipe=recipe_of(recipe))


def samples(out: Path) -> list[str]:
    return (out / "samples.jsonl").read_text().splitlines()


def record(out: Path) -> dict[str, Any]:
    fields: dict[str, Any] = json.loads((out / "run.json").read_text())
    return fields


def database(out: Path, *statements: str) -> None:
    with sqlite3.connect(out / "run.sqlite") as connection:
        for statement in statements:
            connection.execute(statement)
    connection.close()


@pytest.mark.parametrize("recipe", RECIPE_NAMES)
def test_larger_size_extends_the_run(docs: Path, tmp_path: Path, recipe: str) -> None:
    out = tmp_path / "run"
    assert run(docs, out, recipe, size=3).ending == "complete"
    before, attempts, identity = samples(out), record(out)["attempts"], record(out)["identity"]
    grown = run(docs, out, recipe, size=7)
    assert grown.ending == "complete"
    assert samples(out)[:3] == before
    assert len(samples(out)) == 7
    after = record(out)
    assert (after["asked"], after["configuration"]["size"], after["identity"]) == (7, 7, identity)
    assert [(request["first"], request["size"]) for request in after["growth"]] == [(0, 3), (attempts, 7)]
    assert f"Requested samples: first 3, from attempt {attempts + 1} 7." in grown.summary


@pytest.mark.parametrize("recipe", RECIPE_NAMES)
def test_growth_is_independent_of_interruptions_and_workers(docs: Path, tmp_path: Path, recipe: str) -> None:
    plain, disturbed = tmp_path / "plain", tmp_path / "disturbed"
    run(docs, plain, recipe, size=3)
    run(docs, plain, recipe, size=8)
    run(docs, disturbed, recipe, size=3)  # with one worker, as several could make all needed calls ahead
    with pytest.raises(EngineError):
        run(docs, disturbed, recipe, StoppingEngine(1), size=8, workers=2)
    for calls in (2, 3):
        with suppress(EngineError):
            run(docs, disturbed, recipe, StoppingEngine(calls), size=8, workers=calls)
    assert run(docs, disturbed, recipe, size=8, workers=3).ending == "complete"
    for name in ("samples.jsonl", "rejects.jsonl"):
        assert (plain / name).read_text() == (disturbed / name).read_text()
    assert record(plain)["growth"] == record(disturbed)["growth"]
    assert record(plain)["counts"] == record(disturbed)["counts"]


def test_growth_is_independent_of_a_kill(tmp_path: Path) -> None:
    docs = write_documents(tmp_path / "docs")
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    for out in (whole, killed):
        scripted_run.generate(docs, out, size=5)
    scripted_run.generate(docs, whole, size=12)
    log = tmp_path / "calls"
    process = StartedRun(docs, killed, log, seconds=0.05, workers=2, size=12)
    deadline = time.monotonic() + 60
    while not (log.exists() and len(log.read_text().split()) >= 7) and time.monotonic() < deadline:
        time.sleep(0.01)
    process.kill()
    assert record(killed)["status"] == "running"
    assert scripted_run.generate(docs, killed, size=12).ending == "complete"
    assert samples(killed) == samples(whole)
    assert len(samples(killed)) == 12


@pytest.mark.parametrize("recipe", ["evolved", "single"])
def test_ask_all_follows_easy_questions(docs: Path, tmp_path: Path, recipe: str) -> None:
    out = tmp_path / "run"
    assert run(docs, out, recipe, size=300).ending == "short"
    easy, attempts = samples(out), record(out)["attempts"]
    result = run(docs, out, recipe, size=300, ask="all")
    assert samples(out)[: len(easy)] == easy
    assert len(samples(out)) > len(easy)
    assert record(out)["growth"][1] == {"first": attempts, "size": 300, "ask": "all"}
    assert f"from attempt {attempts + 1} 300 with --ask all" in " ".join(result.summary)
    with pytest.raises(RunMismatchError, match=r"--ask easy: the run in .* has --ask all"):
        run(docs, out, recipe, size=300)


def test_stopped_run_can_change_size_and_grow(docs: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    with pytest.raises(EngineError):
        run(docs, out, "evolved", StoppingEngine(10), size=20)
    with pytest.raises(EngineError):
        run(docs, out, "evolved", StoppingEngine(0), size=30)
    assert (decided := record(out)["attempts"]) > 0
    assert run(docs, out, "evolved", size=6).ending == "complete"
    requests = [(request["first"], request["size"]) for request in record(out)["growth"]]
    assert requests == [(0, 20), (decided, 6)], "the request for 30 planned nothing"
    assert run(docs, out, "evolved", size=9).ending == "complete"
    assert len(samples(out)) == 9


@pytest.mark.parametrize("size", [1, 4])
def test_smaller_size_is_rejected(docs: Path, tmp_path: Path, size: int) -> None:
    out = tmp_path / "run"
    run(docs, out, "evolved", size=5)
    before = {path.name: path.read_bytes() for path in out.iterdir() if path.suffix != ".sqlite"}
    with pytest.raises(InputError, match=f"--size {size}: .* has 5 samples already"):
        run(docs, out, "evolved", size=size)
    assert {path.name: path.read_bytes() for path in out.iterdir() if path.suffix != ".sqlite"} == before
    assert run(docs, out, "evolved", size=5).ending == "complete"


@pytest.mark.parametrize("recipe", RECIPE_NAMES)
def test_run_of_older_version_can_grow(docs: Path, tmp_path: Path, recipe: str) -> None:
    for out in (tmp_path / "old", tmp_path / "new"):
        with pytest.raises(EngineError):
            run(docs, out, recipe, StoppingEngine(8), size=6)
    out = tmp_path / "old"
    identity = "json_set(value, '$.size', 6, '$.ask', 'easy')"
    database(
        out,
        "DELETE FROM meta WHERE name IN ('growth', 'ending')",
        f"UPDATE meta SET value = {identity} WHERE name = 'identity'",
    )
    assert run(docs, out, recipe, size=6).ending == "complete"
    run(docs, tmp_path / "new", recipe, size=6)
    assert samples(out) == samples(tmp_path / "new")
    assert run(docs, out, recipe, size=8).ending == "complete"
    run(docs, tmp_path / "new", recipe, size=8)
    assert samples(out) == samples(tmp_path / "new")
