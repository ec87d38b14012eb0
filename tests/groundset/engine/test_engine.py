"""Failed attempts and their handling."""

import json
import sqlite3
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import dspy
import pytest
import scripted_run
from dspy.lm15 import AuthError, ContextLengthError, Request, Response, ServerError
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scripted_run import Encoder, ScriptedEngine, ScriptedProgram, generate, scripted_recipe, write_documents

from groundset.engine import engine as run_module
from groundset.store.run_store import RunStore
from programs.errors import EngineError, GroundsetError, RunError
from programs.types import Attempt, Observer, Outcome


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    return write_documents(tmp_path / "docs")


def samples(out: Path) -> str:
    return (out / "samples.jsonl").read_text()


def rejects(out: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (out / "rejects.jsonl").read_text().splitlines()]


class FailingEngine(ScriptedEngine):
    """Raises an error on the calls for which ``fails`` is true; calls are counted from 0."""

    def __init__(self, error: Exception, fails: Any) -> None:
        super().__init__()
        self.error = error
        self.fails = fails
        self.calls = 0
        self.guard = threading.Lock()

    def complete(self, request: Request) -> Response:
        with self.guard:
            number, self.calls = self.calls, self.calls + 1
        if self.fails(number):
            raise self.error
        return super().complete(request)


def recipe_with(disturb: Any) -> Any:
    """Return a recipe whose program calls ``disturb`` at the start of each attempt."""

    class Disturbed(ScriptedProgram):
        def forward(self, *, attempt: Attempt, observer: Observer) -> Outcome:
            disturb(attempt)
            return super().forward(attempt=attempt, observer=observer)

    return scripted_recipe(Disturbed)


def test_chunk_beyond_context_length_is_refused_and_exhausted(docs, tmp_path):
    engine = FailingEngine(ContextLengthError("5000 of 4096 tokens"), lambda number: number == 0)
    assert generate(docs, tmp_path / "run", engine).ending == "complete"
    first = rejects(tmp_path / "run")[0]
    assert first["step"] == "chunk"
    assert "longer than the language model's context" in first["reason"]
    with RunStore.read(tmp_path / "run") as store:
        assert next(store.attempts.verdicts())[1].exhausted


@pytest.mark.parametrize(
    ("error", "message"),
    [(AuthError("wrong key"), r"\(Auth\).*wrong key"), (EngineError("the runtime crashed"), "the runtime crashed")],
)
def test_engine_error_stops_the_run_and_rerun_resumes(docs, tmp_path, error, message):
    generate(docs, tmp_path / "whole")
    out = tmp_path / "run"
    engine = FailingEngine(error, lambda number: number >= 10)
    with pytest.raises(EngineError, match=message) as caught:
        generate(docs, out, engine, workers=2)
    assert caught.value.exit_code == 1
    assert json.loads((out / "run.json").read_text())["status"] == "failed"
    assert (out / "samples.jsonl").exists()
    corrected = FailingEngine(error, lambda number: False)
    assert generate(docs, out, corrected).ending == "complete"
    assert samples(out) == samples(tmp_path / "whole")
    calls = json.loads((tmp_path / "whole" / "run.json").read_text())["calls"]
    assert corrected.calls == calls - 10, "the ten answered calls are reused"


def test_server_error_is_retried_then_stops_the_run(docs, tmp_path, monkeypatch):
    monkeypatch.setattr("dspy.clients.execution.time.sleep", lambda seconds: None)
    engine = FailingEngine(ServerError("gone"), lambda number: number >= 5)
    with pytest.raises(EngineError, match=r"\(Server\).*gone"):
        generate(docs, tmp_path / "run", engine)
    assert engine.calls == 5 + 3


def test_failed_attempt_is_refused_and_run_completes(docs, tmp_path):
    def disturb(attempt: Attempt) -> None:
        if attempt.number % 4 == 1:
            raise ValueError("a slip\nof the program")

    assert generate(docs, tmp_path / "run", recipe=recipe_with(disturb)).ending == "complete"
    failures = [row for row in rejects(tmp_path / "run") if row["step"] == "failure"]
    assert failures[0]["reason"] == "ValueError: a slip"


@pytest.mark.parametrize("workers", [1, 3])
def test_repeated_failures_stop_the_run(docs, tmp_path, workers):
    def disturb(attempt: Attempt) -> None:
        if attempt.number >= 2:
            raise KeyError("always")

    with pytest.raises(GroundsetError, match="5 attempts in a row failed with KeyError: 'always'"):
        generate(docs, tmp_path / "run", recipe=recipe_with(disturb), workers=workers)
    assert len(rejects(tmp_path / "run")) >= 4
    assert generate(docs, tmp_path / "run").ending == "complete"


def test_store_error_inside_a_call_stops_the_run(docs, tmp_path, monkeypatch):
    def put(self: Any, digest: str, record: Any) -> None:
        raise RunError("the disk is full")

    monkeypatch.setattr("groundset.store.calls.CallTable.put", put)
    with pytest.raises(RunError, match="the disk is full"):
        generate(docs, tmp_path / "run")


def test_hanging_call_does_not_block_the_end_of_the_run(docs, tmp_path, monkeypatch):
    monkeypatch.setattr(run_module, "GRACE_SECONDS", 0.2)
    monkeypatch.setattr(run_module, "HASTY_GRACE_SECONDS", 0.2)
    release = threading.Event()

    def disturb(attempt: Attempt) -> None:
        if attempt.number == 1:
            release.wait(20)
        if attempt.number == 0:
            time.sleep(0.05)
            raise EngineError("gone")

    started = time.monotonic()
    with pytest.raises(EngineError, match="gone"):
        generate(docs, tmp_path / "run", recipe=recipe_with(disturb), workers=2)
    assert time.monotonic() - started < 10
    release.set()


@pytest.mark.parametrize("workers", [2, 5, 8])
def test_results_are_independent_of_worker_count(docs, tmp_path, workers):
    generate(docs, tmp_path / "one", workers=1)
    generate(docs, tmp_path / "many", workers=workers, recipe=scripted_recipe(seconds=0.003))
    for name in ("samples.jsonl", "rejects.jsonl"):
        assert (tmp_path / "one" / name).read_text() == (tmp_path / "many" / name).read_text()
    records = [json.loads((tmp_path / run / "run.json").read_text()) for run in ("one", "many")]
    assert records[0]["counts"] == records[1]["counts"]
    assert records[0]["identity"] == records[1]["identity"]


@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    workers=st.integers(1, 8), seed=st.integers(0, 1000), stops=st.lists(st.integers(1, 30), max_size=3),
    mix=st.sampled_from(["simple=1", "simple=1,reasoning=1,conditional=2"]),
)  # fmt: skip
def test_samples_are_independent_of_workers_and_stops(docs, tmp_path_factory, workers, seed, stops, mix):
    folder = tmp_path_factory.mktemp("runs")
    generate(docs, folder / "whole", seed=seed, mix=mix)
    for stop in stops:
        engine = FailingEngine(EngineError("stop"), lambda number, stop=stop: number >= stop)
        try:
            generate(docs, folder / "run", engine, seed=seed, workers=workers, mix=mix)
        except EngineError:
            continue
    assert generate(docs, folder / "run", seed=seed, workers=workers, mix=mix).ending == "complete"
    assert samples(folder / "run") == samples(folder / "whole")


_DECIDED_AGAIN = "SELECT number, accepted FROM attempts WHERE number NOT IN (SELECT attempt FROM steps) AND decided"


@pytest.mark.parametrize("workers", [1, 8])
def test_postponed_questions_are_used_without_calls(docs, tmp_path, workers):
    options = {"mix": "simple=1,reasoning=5,conditional=5", "size": 14, "workers": workers}
    generate(docs, tmp_path / "run", **options)
    with sqlite3.connect(tmp_path / "run" / "run.sqlite") as connection:
        again = connection.execute(_DECIDED_AGAIN).fetchall()
        rejects_of = {row[0] for row in connection.execute("SELECT attempt FROM rejects")}
    connection.close()
    assert again
    assert {accepted for _, accepted in again} == {"simple"}
    assert rejects_of.isdisjoint(number for number, _ in again), "they are stored once"
    engine = FailingEngine(EngineError("stop"), lambda number: number >= 20)
    with pytest.raises(EngineError):
        generate(docs, tmp_path / "resumed", engine, **options)
    generate(docs, tmp_path / "resumed", **options)
    assert samples(tmp_path / "resumed") == samples(tmp_path / "run")


def test_a_grown_run_uses_what_was_postponed(docs, tmp_path):
    generate(docs, tmp_path / "run", size=5, mix="simple=1,reasoning=1,conditional=1")
    before = samples(tmp_path / "run")
    generate(docs, tmp_path / "run", size=15, mix="simple=1,reasoning=1,conditional=1")
    with sqlite3.connect(tmp_path / "run" / "run.sqlite") as connection:
        again = connection.execute(f"{_DECIDED_AGAIN} AND round = 0").fetchall()
    connection.close()
    assert "reasoning" in [accepted for _, accepted in again], "its share is larger now"
    assert samples(tmp_path / "run").startswith(before)


def test_chunks_are_embedded_once(docs, tmp_path):
    encoders: list[Encoder] = []

    def load(name: str) -> Encoder:
        encoders.append(Encoder(name))
        return encoders[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scripted_run, "Encoder", load)
        engine = FailingEngine(EngineError("stop"), lambda number: True)
        with pytest.raises(EngineError):
            generate(docs, tmp_path / "run", engine)
        assert encoders[0].encoded == 20
        with pytest.raises(EngineError):
            generate(docs, tmp_path / "run", engine)
    assert encoders[1].encoded == 0


def test_run_leaves_no_dspy_history(docs, tmp_path):
    from dspy.clients.base_lm import GLOBAL_HISTORY

    before = len(GLOBAL_HISTORY)
    kept: list[Any] = []
    generate(docs, tmp_path / "run", recipe=recipe_with(lambda attempt: kept.append(dspy.settings.trace)))
    assert len(GLOBAL_HISTORY) == before
    assert set(kept) == {None}
    assert dspy.settings.lm is None


def test_steps_are_stored_as_they_happen(docs, tmp_path):
    seen = []

    def disturb(attempt: Attempt) -> None:
        if attempt.number == 3:
            with sqlite3.connect(tmp_path / "run" / "run.sqlite") as connection:
                seen.append(connection.execute("SELECT count(*) FROM steps").fetchone()[0])
            connection.close()

    generate(docs, tmp_path / "run", recipe=recipe_with(disturb))
    assert seen == [9]


@pytest.mark.parametrize(("name", "parses"), [("en-core-web-sm", True), ("none", False)])
def test_recipe_gets_parser_only_if_configured(docs, tmp_path, name, parses):
    handed = []

    def program(tools, options):
        handed.append(tools.languages.parse)
        return ScriptedProgram(tools.retriever)

    recipe = replace(scripted_recipe(), program=program)
    assert generate(docs, tmp_path / "run", recipe=recipe, parser=name).ending == "complete"
    assert [parse is not None for parse in handed] == [parses]
