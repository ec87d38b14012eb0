"""`groundset.generate` with scripted models: arguments, results, side effects and signals."""

import asyncio
import inspect
import json
import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import dspy
import mlflow
import pytest
import scripted_run
from scripted_run import ScriptedEngine, scripted_generation, write_documents

import groundset
from groundset.commands.generate import generate_parameters
from groundset.engine import making

SMALL: dict[str, Any] = {"size": 3, "chunk_size": 300, "min_length": 50, "parser": "none", "track": False}
# A separate process for tests of signals. Arguments: documents, run, log of calls, seconds for each call.
DRIVER = f"""
import signal, sys
from pathlib import Path
signal.signal(signal.SIGINT, signal.default_int_handler)  # background jobs ignore SIGINT
sys.path[:0] = {[str(Path(scripted_run.__file__).parent)]!r}
from scripted_run import ScriptedEngine, scripted_generation
import groundset
from groundset.engine import making, engine
engine.HASTY_GRACE_SECONDS = 60.0  # only a second signal ends a call sooner
docs, out, log, seconds = sys.argv[1:]
making.run_generation = scripted_generation(ScriptedEngine(Path(log), float(seconds)))
before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
run = groundset.generate(docs, out=out, quiet=True, **{SMALL!r})
assert before == [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
print(run.status, len(run), flush=True)
"""


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    return write_documents(tmp_path / "docs")


@pytest.fixture(autouse=True)
def scripted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(making, "run_generation", scripted_generation())
    monkeypatch.setattr("groundset.privacy.set_defaults", lambda: None)


def rows(out: Path) -> str:
    return (out / "samples.jsonl").read_text()


def test_signature_matches_command_and_recipe_options() -> None:
    parameters = inspect.signature(groundset.generate).parameters
    assert set(parameters) == {parameter.python_name for parameter in generate_parameters()}
    text = str(groundset.generate.__doc__)
    for name in parameters:
        assert f"\n        {name}: " in text, name
    assert "min_chunks: Of multi: Fewest chunks that a question needs. Default: 2." in text


@pytest.mark.parametrize("form", [str, Path, lambda folder: [str(path) for path in sorted(folder.iterdir())]])
def test_documents_can_be_str_path_or_list(docs: Path, tmp_path: Path, form: Any) -> None:
    run = groundset.generate(form(docs), out=form(tmp_path / "run") if form is str else tmp_path / "run", **SMALL)
    assert (len(run), run.is_complete, run.folder) == (3, True, tmp_path / "run")


def test_chunks_can_replace_documents(tmp_path: Path) -> None:
    file = tmp_path / "mine.jsonl"
    lines = [json.dumps({"doc_id": f"c{n}", "contents": f"Text number {n} about word{n}."}) for n in range(9)]
    file.write_text("\n".join(lines))
    assert len(groundset.generate(chunks=file, out=tmp_path / "run", size=2, parser="none", track=False)) == 2


def test_progress_goes_to_stderr_unless_quiet(docs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    groundset.generate(docs, out=tmp_path / "quiet", quiet=True, **SMALL)
    assert capsys.readouterr() == ("", "")
    groundset.generate(docs, out=tmp_path / "run", **SMALL)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "20 chunks from 5 documents" in captured.err


def test_short_run_is_returned(docs: Path, tmp_path: Path) -> None:
    run = groundset.generate(docs, out=tmp_path / "run", **{**SMALL, "size": 500})
    assert (run.is_complete, run.status) == (False, "short")
    assert 0 < len(run) < 500
    assert "lower size" in run.summary
    assert "--" not in run.summary


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"size": 0}, "size 0: must be at least 1"),
        ({"chunk_size": "wide"}, "chunk_size wide: must be a whole number"),
        ({"chunker": "clever"}, "chunker clever: choose one of recursive"),
        ({"recipe": "clever"}, "recipe clever: no such recipe; choose one of evolved"),
        ({"critic": "clever"}, "critic clever: no such critic"),
        ({"max_chunks": 3}, "max_chunks: not an option of the recipe evolved, but of multi"),
        ({"sise": 3}, "there is no option sise; did you mean size?"),
        ({"min_length": 9999}, "no chunk is left: all .* see min_length"),
        ({"docs": 5}, "docs 5: give a path, or a list of paths"),
        ({"docs": ()}, "no documents; name files or folders, or chunks FILE"),
        ({"docs": "none.md"}, "no such file or folder: none.md"),
        ({"config": "none.toml"}, "config none.toml: "),
    ],
)
def test_errors_name_parameters_and_write_nothing(
    docs: Path, tmp_path: Path, given: dict[str, Any], message: str
) -> None:
    call = {"docs": docs, **SMALL, **given}
    with pytest.raises(groundset.InputError, match=f"^{message}"):
        groundset.generate(call.pop("docs"), out=tmp_path / "run", **call)
    assert not (tmp_path / "run").exists()


def test_mismatch_names_parameters(docs: Path, tmp_path: Path) -> None:
    groundset.generate(docs, out=tmp_path / "run", **SMALL)
    with pytest.raises(groundset.RunMismatchError, match=r"seed 0 \(now 5\), candidates 2 \(now 9\)"):
        groundset.generate(docs, out=tmp_path / "run", **SMALL, seed=5, candidates=9)
    with pytest.raises(TypeError, match="unexpected keyword argument 'documents'"):
        groundset.generate(docs, out=tmp_path / "run", documents=[docs])


def test_generate_works_in_event_loops_and_threads(docs: Path, tmp_path: Path) -> None:
    first = groundset.generate(docs, out=tmp_path / "first", **SMALL)

    async def inside() -> groundset.Run:
        return groundset.generate(docs, out=tmp_path / "loop", **SMALL)

    asyncio.run(inside())
    with ThreadPoolExecutor(2) as pool:
        outs = [tmp_path / "one", tmp_path / "two"]
        found = list(pool.map(lambda out: groundset.generate(docs, out=out, quiet=True, **SMALL), outs))
    assert {rows(tmp_path / name) for name in ("first", "loop", "one", "two")} == {rows(tmp_path / "first")}
    assert [run.samples for run in found] == [first.samples] * 2


@pytest.fixture
def own_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """An MLflow store with an active run, chosen by the caller; the project has another store."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mlruns").mkdir()
    uri = f"sqlite:///{tmp_path / 'own.db'}"
    before = mlflow.get_tracking_uri()
    mlflow.set_tracking_uri(uri)
    monkeypatch.delenv("MLFLOW_TRACKING_URI")
    with mlflow.start_run():
        yield uri
    mlflow.set_tracking_uri(before)


def test_dspy_and_mlflow_settings_are_restored(docs: Path, tmp_path: Path, own_store: str) -> None:
    mine = dspy.LM("openai/mine", api_key="none")
    dspy.configure(lm=mine)
    log, mlflow_level = logging.getLogger("dspy.clients.lm"), logging.getLogger("mlflow").level
    before = log.level, list(log.filters)
    settings, cache, active = dict(dspy.settings.config), dspy.cache, mlflow.active_run()
    groundset.generate(docs, out=tmp_path / "run", **{**SMALL, "track": True})
    assert dict(dspy.settings.config) == settings
    assert (dspy.settings.lm, dspy.cache) == (mine, cache)
    assert (log.level, log.filters) == before
    assert logging.getLogger("mlflow").level == mlflow_level
    assert mlflow.get_tracking_uri() == own_store
    assert "MLFLOW_TRACKING_URI" not in os.environ
    assert mlflow.active_run().info.run_id == active.info.run_id
    assert mlflow.get_run(active.info.run_id).data.params == {}
    client = mlflow.MlflowClient(f"sqlite:///{tmp_path / 'mlruns' / 'mlflow.db'}")
    (logged,) = client.search_runs([client.get_experiment_by_name("groundset-generate").experiment_id])
    assert (logged.info.status, logged.data.params["size"], logged.data.metrics["accepted"]) == ("FINISHED", "3", 3)
    assert [entry.dataset.name for entry in logged.inputs.dataset_inputs] == ["run"]
    assert [entry.path for entry in client.list_artifacts(logged.info.run_id)] == ["samples.jsonl"]


def test_untrackable_run_completes_with_a_warning(docs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = tmp_path / "store"
    store.write_text("a file where the store should be")
    monkeypatch.delenv("MLFLOW_TRACKING_URI")
    with pytest.warns(
        UserWarning, match=r"^Not tracked: cannot track in .* \(track=False disables tracking\)$"
    ) as warned:
        run = groundset.generate(docs, out=tmp_path / "run", **{**SMALL, "track": True, "tracking": store})
    assert run.is_complete
    assert warned[0].filename == __file__


def start(docs: Path, out: Path, log: Path, seconds: float) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", DRIVER, *map(str, (docs, out, log, seconds))]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while not log.exists() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)
    return process


def test_interrupt_returns_a_run_and_the_same_call_resumes(
    docs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, log = tmp_path / "run", tmp_path / "calls"
    process = start(docs, out, log, 0.3)
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == 0, stderr
    status, count = stdout.split()
    assert (status, int(count) < 3) == ("interrupted", True)
    made = log.read_text().split()
    monkeypatch.setattr(making, "run_generation", scripted_generation(ScriptedEngine(log)))
    assert groundset.generate(docs, out=out, quiet=True, **SMALL).is_complete
    again = log.read_text().split()[len(made) :]
    assert not set(made) & set(again), "a finished call was made again"


def test_second_interrupt_returns_at_once(docs: Path, tmp_path: Path) -> None:
    process = start(docs, tmp_path / "run", tmp_path / "calls", 60)
    process.send_signal(signal.SIGINT)
    time.sleep(3)  # signals that arrive before the first is handled are merged
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=40)
    assert (process.returncode, stdout) == (0, "interrupted 0\n"), stderr


def test_sigterm_still_ends_the_process(docs: Path, tmp_path: Path) -> None:
    process = start(docs, tmp_path / "run", tmp_path / "calls", 0.2)
    process.terminate()
    stdout, _ = process.communicate(timeout=60)
    assert (process.returncode, stdout) == (-signal.SIGTERM, "")
    assert groundset.open_run(tmp_path / "run").status == "interrupted"


def test_interrupt_before_the_run_exists_is_raised(docs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*args: Any, **kwargs: Any) -> None:
        raise KeyboardInterrupt

    groundset.generate(docs, out=tmp_path / "old", **SMALL)
    monkeypatch.setattr(making, "run_generation", interrupted)
    with pytest.raises(KeyboardInterrupt):
        groundset.generate(docs, out=tmp_path / "new", **SMALL)
    assert groundset.generate(docs, out=tmp_path / "old", **SMALL).is_complete
