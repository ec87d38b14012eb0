"""Resuming of killed and interrupted runs."""

import json
import os
import random
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from scripted_run import ScriptedEngine, generate, write_documents
from started_run import StartedRun

from groundset.store.run_store import RunStore
from programs.errors import GroundsetError, InputError, RunMismatchError


def samples(out: Path) -> str:
    return (out / "samples.jsonl").read_text()


def calls(log: Path) -> Counter[str]:
    return Counter(log.read_text().split()) if log.exists() else Counter()


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.001)


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    return write_documents(tmp_path / "docs")


def test_kills_change_no_samples_and_repeat_no_finished_call(docs: Path, tmp_path: Path) -> None:
    whole_log, log = tmp_path / "whole.log", tmp_path / "killed.log"
    whole = StartedRun(docs, tmp_path / "whole", whole_log)
    output = whole.ended()
    assert whole.process.exitcode == 0, output
    out = tmp_path / "killed"
    rng, kills = random.Random(1), 0
    while True:
        process = StartedRun(docs, out, log, seconds=0.02)
        if kills < 3:
            before = sum(calls(log).values())
            deadline = time.monotonic() + 30
            while sum(calls(log).values()) < before + 2 and process.is_running() and time.monotonic() < deadline:
                time.sleep(0.01)
            time.sleep(rng.random() * 0.2)
        if kills == 3 or not process.is_running():
            output = process.ended()
            assert process.process.exitcode == 0, output
            break
        process.kill()
        kills += 1
    assert kills >= 2
    assert samples(out) == samples(tmp_path / "whole")
    assert (out / "rejects.jsonl").read_text() == (tmp_path / "whole" / "rejects.jsonl").read_text()
    repeated = sum(calls(log).values()) - len(calls(log))
    # Only the call in flight at a kill may be repeated.
    assert repeated <= kills
    assert set(calls(log)) >= set(calls(whole_log))


def test_kills_with_several_workers_repeat_no_journalled_call(docs: Path, tmp_path: Path) -> None:
    generate(docs, tmp_path / "whole")
    out, log = tmp_path / "killed", tmp_path / "calls"
    rng = random.Random(2)
    for _ in range(2):
        before = sum(calls(log).values())
        process = StartedRun(docs, out, log, seconds=0.03, workers=3)
        wait_until(lambda before=before: sum(calls(log).values()) >= before + 4)
        time.sleep(rng.random() * 0.1)
        process.kill()
        with RunStore.read(out) as store:
            kept = {digest for digest in calls(log) if store.calls.get(digest) is not None}
        made = calls(log)
        assert kept
        process = StartedRun(docs, out, log, seconds=0.03, workers=3)
        wait_until(lambda made=made: calls(log).total() >= made.total() + 3)
        process.kill()
        assert not (calls(log) - made).keys() & kept
    assert generate(docs, out, ScriptedEngine(log), workers=3).ending == "complete"
    assert samples(out) == samples(tmp_path / "whole")


def test_run_killed_during_creation_starts_over(docs: Path, tmp_path: Path) -> None:
    out, log = tmp_path / "run", tmp_path / "calls"
    for pause in (0.0, 0.002, 0.004):
        process = StartedRun(docs, out, log, seconds=0.5)
        wait_until(lambda: any(out.glob("*run.sqlite*")))
        time.sleep(pause)
        process.kill()
    generate(docs, tmp_path / "whole")
    assert generate(docs, out).ending == "complete"
    assert samples(out) == samples(tmp_path / "whole")


def test_seed_changes_samples(docs: Path, tmp_path: Path) -> None:
    generate(docs, tmp_path / "one", seed=1)
    generate(docs, tmp_path / "two", seed=2)
    assert samples(tmp_path / "one") != samples(tmp_path / "two")


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signal_stops_cleanly_and_the_run_resumes(docs: Path, tmp_path: Path, number: int, status: int) -> None:
    out, log = tmp_path / "run", tmp_path / "calls"
    process = StartedRun(docs, out, log, seconds=0.05)
    wait_until(lambda: calls(log).total() >= 3)
    process.send_signal(number)
    output = process.ended()
    assert process.process.exitcode == status
    assert output.startswith("interrupted")
    assert "same command" in output
    assert json.loads((out / "run.json").read_text())["status"] == "interrupted"
    assert generate(docs, out, ScriptedEngine(log)).ending == "complete"


def test_second_interrupt_exits_immediately(docs: Path, tmp_path: Path) -> None:
    out, log = tmp_path / "run", tmp_path / "calls"
    process = StartedRun(docs, out, log, seconds=60)
    wait_until(lambda: bool(calls(log)))
    process.send_signal(signal.SIGINT)
    time.sleep(0.3)
    assert process.is_running()
    process.send_signal(signal.SIGINT)
    process.ended(seconds=3)
    assert process.process.exitcode == 130
    assert generate(docs, out).ending == "complete"


def test_other_configuration_documents_and_foreign_folder_are_rejected(docs: Path, tmp_path: Path) -> None:
    generate(docs, tmp_path / "run")
    with pytest.raises(RunMismatchError, match="seed"):
        generate(docs, tmp_path / "run", seed=9)
    (docs / "doc0.md").write_text("# Another\n\n" + "Other words stand here. " * 20)
    with pytest.raises(RunMismatchError):
        generate(docs, tmp_path / "run")
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    (foreign / "letter.txt").write_text("mine")
    with pytest.raises(InputError, match="foreign"):
        generate(docs, foreign)
    assert [path.name for path in foreign.iterdir()] == ["letter.txt"]


def test_folder_in_use_is_rejected(docs: Path, tmp_path: Path) -> None:
    out, log = tmp_path / "run", tmp_path / "calls"
    process = StartedRun(docs, out, log, seconds=0.1)
    wait_until(lambda: bool(calls(log)))
    try:
        with pytest.raises(GroundsetError, match=r"another process|in use|running"):
            generate(docs, out)
    finally:
        process.kill()


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small disk needs root")
def test_full_disk_raises_groundset_error(docs: Path, tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=400k", "tmpfs", str(disk)], check=False).returncode:
        pytest.skip("mounting a small disk is not permitted")
    try:
        with pytest.raises(GroundsetError, match=r"(?i)space|full|disk"):
            generate(docs, disk / "run", size=500)
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_record_and_sample_fields(docs: Path, tmp_path: Path) -> None:
    generate(docs, tmp_path / "run")
    record = json.loads((tmp_path / "run" / "run.json").read_text())
    assert "uncompiled" in json.dumps(record)
    for key in ("configuration", "counts", "versions"):
        assert key in record, sorted(record)
    rows = [json.loads(line) for line in samples(tmp_path / "run").splitlines()]
    assert len(rows) == 8
    assert set(rows[0]) == {
        "id", "question", "answer", "evolution", "language", "contexts", "retrieval_gt", "retrieval", "probability",
        "trail", "metadata",
    }  # fmt: skip
    assert {"chunk_id", "doc_id", "path", "title", "headings", "start", "end", "text"} <= set(rows[0]["contexts"][0])
    assert set(rows[0]["retrieval"]) == {"rank", "retrieved_id", "retrieved_content", "score"}
    assert len({row["id"] for row in rows}) == 8
