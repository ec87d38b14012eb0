"""Progress messages of runs: loading, resuming, growth and elapsed time."""

import io
import json
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from scripted_run import (
    CRITICS,
    Encoder,
    ScriptedEngine,
    StoppingEngine,
    generate,
    lm_opener,
    scripted_recipe,
    write_documents,
)

from groundset import open_run
from groundset import progress as progress_module
from groundset.engine.config import make_config
from groundset.engine.generation import run_generation
from groundset.engine.models import Openers
from groundset.progress import Progress
from programs.errors import EngineError


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Suppress messages that appear only on slow machines; tests of these messages set their own delay."""
    monkeypatch.setattr(progress_module, "PATIENCE_SECONDS", 600)


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    return write_documents(tmp_path / "docs")


def captured_progress() -> tuple[Progress, io.StringIO]:
    stream = io.StringIO()
    return Progress(console=Console(file=stream, width=200)), stream


def seconds(out: Path) -> float:
    value: float = json.loads((out / "run.json").read_text())["seconds"]
    return value


def test_loading_and_reading_are_announced_first(docs: Path, tmp_path: Path) -> None:
    progress, stream = captured_progress()
    output_at_load: list[str] = []

    def load(name: str) -> Encoder:
        output_at_load.append(stream.getvalue())
        return Encoder(name)

    config = make_config({"documents": (docs,), "size": 2, "chunk_size": 300, "min_length": 50, "embedder": "tiny"})
    openers = Openers(lm_opener(ScriptedEngine()), load, lambda spec, **parts: CRITICS)
    run_generation(config, tmp_path / "run", progress=progress, openers=openers, recipe=scripted_recipe())
    assert output_at_load == ["Loading the embedding model tiny.\n"]
    assert stream.getvalue().splitlines()[1:4] == [
        "Loading the parser en-core-web-sm.",
        "Reading documents: 5.",
        "20 chunks from 5 documents (dropped: 0 too short, 0 duplicates; skipped files: 0).",
    ]


def test_resumed_run_continues_its_counts(docs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "run"
    with pytest.raises(EngineError):
        generate(docs, out, StoppingEngine(20))
    record = json.loads((out / "run.json").read_text())
    monkeypatch.setattr(progress_module, "LINE_EVERY_SECONDS", 0)
    progress, stream = captured_progress()
    generate(docs, out, progress=progress)
    lines = stream.getvalue().splitlines()
    kept, attempts = record["accepted"], record["attempts"]
    assert lines[0] == f"Continuing {out}: {kept} of 8 samples after {attempts} attempts."
    first = next(line for line in lines if " attempts; " in line)
    assert first.startswith(f"{kept} of 8 samples, {attempts} attempts; ")
    assert int(first.split("attempts; ")[1].split(" calls")[0]) >= record["calls"]


def test_grown_run_reports_the_new_size(docs: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    generate(docs, out, size=3)
    attempts = json.loads((out / "run.json").read_text())["attempts"]
    progress, stream = captured_progress()
    generate(docs, out, size=6, progress=progress)
    assert stream.getvalue().startswith(f"Continuing {out}: 3 of 6 samples after {attempts} attempts.\n")


@pytest.mark.parametrize(("size", "kept"), [(20, "0 of 20 samples"), (None, "0 samples")])
def test_early_stop_reports_requested_samples(docs: Path, tmp_path: Path, size: int | None, kept: str) -> None:
    """Without a recipe size, the number of requested samples is unknown until the chunks are read."""

    class Stopping(Encoder):
        def encode_corpus(self, *arguments: Any, **options: Any) -> Any:
            raise KeyboardInterrupt

    config = make_config({"documents": (docs,), "chunk_size": 300, "min_length": 50, "parser": "none"})
    openers = Openers(lm_opener(ScriptedEngine()), Stopping, lambda spec, **parts: CRITICS)
    out = tmp_path / "run"
    result = run_generation(config, out, openers=openers, recipe=replace(scripted_recipe(), size=size))
    assert result.ending == "interrupted"
    assert result.summary[0] == f"Kept {kept} from 0 attempts on 20 chunks of 5 documents."
    assert repr(open_run(out)) == f"<Run {out}: {kept}, interrupted>"


@pytest.mark.parametrize(("size", "more"), [(8, "; a larger --size adds to it"), (500, "")])
def test_finished_run_is_reported_without_loading(docs: Path, tmp_path: Path, size: int, more: str) -> None:
    out = tmp_path / "run"
    before = generate(docs, out, size=size)
    progress, stream = captured_progress()

    def load(*arguments: Any, **options: Any) -> Any:
        pytest.fail("something was loaded")

    config = make_config({"documents": (docs,), "size": size, "chunk_size": 300, "min_length": 50})
    openers = Openers(load, load, load)
    again = run_generation(config, out, progress=progress, openers=openers, recipe=scripted_recipe())
    kept = json.loads((out / "run.json").read_text())["accepted"]
    assert stream.getvalue() == f"The run in {out} is finished: {kept} of {size} samples{more}.\n"
    assert (again.ending, again.summary) == (before.ending, before.summary)


def test_recorded_time_is_wall_time_of_all_sessions(docs: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    config = make_config({"documents": (docs,), "size": 8, "chunk_size": 300, "min_length": 50})

    def slow(name: str) -> Encoder:
        time.sleep(0.5)
        return Encoder(name)

    def session(engine: ScriptedEngine) -> float:
        began = time.monotonic()
        openers = Openers(lm_opener(engine), slow, lambda spec, **parts: CRITICS)
        with suppress(EngineError):
            run_generation(config, out, openers=openers, recipe=scripted_recipe(seconds=0.02), started=began - 100)
        return time.monotonic() - began + 100

    first = session(StoppingEngine(10))
    assert seconds(out) == pytest.approx(first, abs=0.4)
    second = session(ScriptedEngine())
    assert seconds(out) == pytest.approx(first + second, abs=0.4)
