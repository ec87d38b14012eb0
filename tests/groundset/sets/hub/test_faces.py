"""Push from the command line and from Python, in separate processes."""

import os
import subprocess
import sys

import pytest

from groundset import commands
from groundset.commands import needs_hub
from groundset.store.record import write_files
from groundset.store.run_store import RunStore

COMMAND = "import sys; from groundset.commands import main; main(sys.argv[1:])"
PYTHON = """
import os, sys, groundset
import huggingface_hub
run = groundset.open_run(sys.argv[1])
assert os.environ["HF_HUB_OFFLINE"] == "1"
dry = run.push("you/demo", licence="mit", dry_run=sys.argv[2])
assert (dry.questions, dry.chunks, dry.url) == (2, 3, None), dry
try:
    run.push("you/demo", licence="mi")
except groundset.InputError as error:
    assert str(error).startswith("licence mi: "), error
pushed = run.push("you/demo", licence="mit", private=True)
print(pushed.private, len(pushed.changed), run.push("you/demo", licence="mit").changed)
"""


@pytest.fixture
def started(hub, egress, tmp_path):
    """Run Python in a process that reaches this machine alone."""

    def started(script, *arguments):
        environment = {name: value for name, value in os.environ.items() if name != "HF_HUB_OFFLINE"}
        command = [sys.executable, "-c", script, *map(str, arguments)]
        environment["HF_HOME"] = str(tmp_path / "home")
        return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=100, cwd=tmp_path)

    return started


def test_push_command(hub, started, folder):
    ran = started(COMMAND, "push", folder, "--repo", "you/demo", "--licence", "cc-by-4.0", "--private")
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.startswith(
        f"2 questions and 3 chunks: {hub.url}/datasets/you/demo (private).\nChanged: README.md, "
    )
    host = hub.url.removeprefix("http://")
    assert f"Texts go to {host}.\n" in ran.stderr
    assert os.environ["HF_TOKEN"] not in ran.stdout + ran.stderr


def test_push_from_python_after_offline_import(hub, started, folder, tmp_path):
    with RunStore.open(folder) as store:
        write_files(store, "complete")
    ran = started(PYTHON, folder, tmp_path / "dry")
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout == "True 5 ()\n"
    assert hub.repos["you/demo"].private
    assert (tmp_path / "dry" / "README.md").is_file()


@pytest.mark.parametrize(
    ("arguments", "asks"),
    [
        ("push run --repo you/demo", True),
        ("push run --repo you/demo --dry-run dir", False),
        ("push run --repo you/demo --dry-run=dir", False),
        ("models pull x --hub", True),
        ("show push", False),
        ("", False),
    ],
)
def test_only_a_push_that_sends_asks_for_the_hub(arguments, asks):
    assert needs_hub(arguments.split()) == asks


@pytest.fixture
def command(capsys, monkeypatch):
    monkeypatch.setattr(commands.privacy, "set_defaults", lambda **kwargs: None)

    def command(*arguments):
        with pytest.raises(SystemExit) as leaving:
            commands.main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return leaving.value.code, captured.out, captured.err

    return command


def test_dry_run_command(command, folder, tmp_path):
    out = tmp_path / "dry"
    status, output, err = command("push", folder, "--repo", "you/demo", "--licence", "other", "--dry-run", out)
    assert (status, err) == (0, "")
    assert all(part in output for part in ("you/demo", "2 questions and 3 chunks", str(out)))
