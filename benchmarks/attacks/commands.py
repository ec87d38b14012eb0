"""Attacks on the command line: invalid paths, killed and concurrent processes, interrupts."""

import json
import os
import signal
import time
from pathlib import Path

from attacks.target import Running, Target

_QUICK_S = 30  # for errors before anything is loaded, on a busy machine
_SET_ROWS = 12
_MANY_ROWS = 600


def empty_path(target: Target, folder: Path) -> str:
    """Pass an empty path, as an unset shell variable does."""
    (folder / "private.txt").write_text("This file was not named. " * 40)
    outcomes = [
        target.run("chunk", "", "--out", folder / "out.jsonl", cwd=folder, seconds=_QUICK_S),
        target.run("generate", "", "--out", folder / "run", cwd=folder, seconds=_QUICK_S),
        target.run("import", folder, "--out", "", cwd=folder, seconds=_QUICK_S),
    ]
    faults = [outcome.fault(2, message="is empty") for outcome in outcomes]
    return next(filter(None, faults), "") or _unexpected_files(folder, "private.txt")


def rows_from_a_pipe(target: Target, folder: Path) -> str:
    """Judge rows from a pipe without a writer."""
    os.mkfifo(folder / "pipe")
    outcome = target.run("judge", "chunks", folder / "pipe", "--out", folder / "out.jsonl", seconds=_QUICK_S)
    return outcome.fault(2, message="pipe") or _unexpected_files(folder, "pipe")


def options_from_a_pipe(target: Target, folder: Path) -> str:
    """Read options from a pipe without a writer."""
    os.mkfifo(folder / "pipe")
    outcome = target.run("generate", folder, "--config", folder / "pipe", "--out", folder / "run", seconds=_QUICK_S)
    return outcome.fault(2, message="pipe") or _unexpected_files(folder, "pipe")


def out_below_a_file(target: Target, folder: Path) -> str:
    """Pass an output folder inside a file."""
    (folder / "file").touch()
    outcome = target.run("generate", folder, "--out", folder / "file" / "run", seconds=_QUICK_S, memory_mib=300)
    return outcome.fault(2, message="is a file, not a folder")


def out_with_a_long_name(target: Target, folder: Path) -> str:
    """Pass an output folder whose name is too long for any file system."""
    name = "n" * 300
    outcome = target.run("generate", folder, "--out", folder / "new" / name, seconds=_QUICK_S, memory_mib=300)
    return outcome.fault(2, message="File name too long")


def killed_judge(target: Target, folder: Path) -> str:
    """Kill a command that writes rows, and write to the same folder again."""
    rows = _rows(folder / "rows.jsonl", _MANY_ROWS)
    judging = target.start("judge", "questions", rows, "--out", folder / "out.jsonl")
    has_started = judging.wait_for("Judging")
    judging.kill()
    if not has_started:
        return f"was not judging: {judging.text.strip()}"
    documents = folder / "docs"
    documents.mkdir()
    (documents / "a.txt").write_text("The ferry leaves Brannock pier at seven each morning. " * 20)
    outcome = target.run("chunk", documents, "--out", folder / "chunks.jsonl")
    return outcome.fault(0) or _unexpected_files(folder, "rows.jsonl", "docs", "chunks.jsonl", "chunks.docs.jsonl")


def two_merges_to_one_folder(target: Target, folder: Path) -> str:
    """Merge into one folder twice at the same time: one succeeds, and the other prints an error."""
    for name in ("one", "two"):
        rows = _rows(folder / f"{name}.jsonl", _MANY_ROWS, name)
        made = target.run("import", rows, "--out", folder / name, seconds=200, counts=False)
        if made.status:
            return f"the run was not made: {made.text.strip()}"
    arguments = ("merge", folder / "one", folder / "two", "--out", folder / "both")
    started = [target.start(*arguments) for _ in range(2)]
    statuses = [_status(running) for running in started]
    last_lines = [running.text.strip().rpartition("\n")[2] for running in started]
    target.status, target.last_line = max(statuses), last_lines[statuses.index(max(statuses))]
    if sorted(statuses) != [0, 2]:
        return f"status {statuses}: {' / '.join(last_lines)}"
    outcome = target.run("show", folder / "both", "--limit", "1")
    return outcome.fault(0) or _unexpected_files(folder, "one", "two", "both", "one.jsonl", "two.jsonl")


def page_in_the_temporary_folder(target: Target, folder: Path) -> str:
    """Show a run in a browser, and look for files in the temporary folder."""
    rows, temporary = _rows(folder / "rows.jsonl", _SET_ROWS), folder / "tmp"
    temporary.mkdir()
    made = target.run("import", rows, "--out", folder / "run", seconds=200, counts=False)
    if made.status:
        return f"the run was not made: {made.text.strip()}"
    code = "import sys, groundset; groundset.open_run(sys.argv[1]).open_in_browser()"
    environment = {"TMPDIR": str(temporary), "BROWSER": "true"}
    outcome = target.watch(target.start(folder / "run", code=code, env=environment))
    return outcome.fault(0) or _unexpected_files(temporary)


def interrupt_at_the_start(target: Target, folder: Path) -> str:
    """Interrupt a command while it imports modules."""
    return _interrupt(target.start("chunk", folder, "--out", folder / "out.jsonl"), target, after=0.3)


def two_interrupts_while_reading(target: Target, folder: Path) -> str:
    """Interrupt a run twice while its child processes read chunks."""
    documents = folder / "docs"
    documents.mkdir()
    for number in range(6):
        chapters = (f"Chapter {each}. The ferry {each} leaves pier {number} with {each} crates. " for each in range(90))
        (documents / f"{number}.txt").write_text("\n\n".join(chapter * 8 for chapter in chapters))
    arguments = ("generate", documents, "--out", folder / "run", "--lm", "smollm2-135m", "--no-track")
    running = target.start(*arguments)
    if not running.wait_for("Preparing chunks: ", 120):
        running.kill()
        return f"did not read: {running.text.strip()}"
    os.killpg(running.process.pid, signal.SIGINT)
    return _interrupt(running, target, after=0.7)


def _interrupt(running: Running, target: Target, after: float) -> str:
    """Interrupt a command after some seconds; return the fault."""
    time.sleep(after)
    os.killpg(running.process.pid, signal.SIGINT)
    started = time.monotonic()
    target.status = _status(running)
    target.seconds += time.monotonic() - started
    time.sleep(2)  # for output of remaining processes
    text = running.text
    target.last_line = text.strip().rpartition("\n")[2]
    if target.status != 128 + signal.SIGINT:
        return f"status {target.status}: {target.last_line}"
    return next((f"prints {word}" for word in ("Traceback", "Warning") if word in text), "")


def _status(running: Running) -> int:
    """Wait for a command and return its status; kill it after a timeout."""
    deadline = time.monotonic() + 120
    while running.process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.05)
    if running.process.returncode is None:
        running.kill()
    return int(running.process.returncode)


def _unexpected_files(folder: Path, *expected: str) -> str:
    """Return a fault if a folder contains other files than the expected ones."""
    others = sorted({path.name for path in folder.iterdir()} - set(expected))
    return f"leaves {', '.join(others)}" if others else ""


def _rows(file: Path, count: int, name: str = "a") -> Path:
    """Write rows that can be imported and judged."""
    rows = (
        {
            "question": f"When does ferry {name} {number} leave Brannock pier?",
            "answer": f"At {number} past seven.",
            "contexts": [{"text": f"Ferry {name} {number} leaves Brannock pier at {number} past seven. " * 3}],
        }
        for number in range(count)
    )
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


ATTACKS = (
    empty_path,
    rows_from_a_pipe,
    options_from_a_pipe,
    out_below_a_file,
    out_with_a_long_name,
    killed_judge,
    two_merges_to_one_folder,
    page_in_the_temporary_folder,
    interrupt_at_the_start,
    two_interrupts_while_reading,
)
