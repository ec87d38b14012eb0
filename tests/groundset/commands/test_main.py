"""The command line: exit statuses, error messages, start-up time and privacy."""

import json
import os
import re
import subprocess
import sys
import time

import pytest
import typer

from groundset import __version__, commands
from programs.errors import EngineError, InputError

HEAVY = ("dspy", "torch", "transformers", "sentence_transformers", "mlflow", "pandas", "numpy", "litellm", "datasets")


def wrapped(error: Exception) -> Exception:
    """Return an exception caused by ``error``."""
    other = RuntimeError("litellm.Exception: wrapped")
    other.__cause__ = error
    return other


def failing_app(error: BaseException) -> typer.Typer:
    app = typer.Typer(cls=commands._Group)

    @app.callback()
    def root() -> None:
        pass

    @app.command()
    def work() -> None:
        raise error

    return app


@pytest.mark.parametrize(
    ("error", "status", "line"),
    [
        (InputError("no documents\nwere named"), 2, "groundset: error: no documents were named\n"),
        (EngineError("it crashed"), 1, "groundset: error: it crashed\n"),
        (wrapped(EngineError("it crashed")), 1, "groundset: error: it crashed\n"),
        (
            RuntimeError("boom"),
            1,
            "groundset: error: unexpected RuntimeError: boom (set GROUNDSET_DEBUG=1 for a traceback)\n",
        ),
        (KeyboardInterrupt(), 130, "groundset: error: interrupted\n"),
        (typer.Abort(), 1, "groundset: error: aborted\n"),
        (BrokenPipeError(32, "Broken pipe"), 141, ""),
        (SystemExit(3), 3, ""),
        (SystemExit(130), 130, ""),
        (typer.Exit(3), 3, ""),
        (typer.Exit(130), 130, ""),
    ],
)
def test_exit_statuses(run, monkeypatch, error, status, line):
    monkeypatch.delenv("GROUNDSET_DEBUG", raising=False)
    monkeypatch.setattr(commands, "build_app", lambda arguments: failing_app(error))
    ran = run("work")
    assert (ran.status, ran.out, ran.err) == (status, "", line)


def test_traceback_with_debug_variable(run, monkeypatch):
    monkeypatch.setenv("GROUNDSET_DEBUG", "1")
    monkeypatch.setattr(commands, "build_app", lambda arguments: failing_app(RuntimeError("boom")))
    ran = run("work")
    assert ran.status == 1
    assert "Traceback" in ran.err
    assert "unexpected RuntimeError: boom" in ran.err.splitlines()[-1]


@pytest.mark.parametrize(
    "arguments", ["cook", "chunk --out", "chunk x.md", "show", "push a --repo b", "judge recipes a --out b"]
)
def test_usage_errors(run, arguments):
    ran = run(*arguments.split())
    assert ran.status == 2
    assert re.fullmatch(r"groundset: error: ([a-z'-]|[A-Z]+ ).*[^.]\n", ran.err)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion(run, monkeypatch, shell):
    monkeypatch.setenv("_GROUNDSET_COMPLETE", f"source_{shell}")
    ran = run()
    assert (ran.status, ran.err) == (0, "")
    assert "groundset" in ran.out
    assert f"_GROUNDSET_COMPLETE=complete_{shell}" in ran.out
    monkeypatch.setenv("_GROUNDSET_COMPLETE", f"complete_{shell}")
    for name, value in (
        ("COMP_WORDS", "groundset la"),
        ("COMP_CWORD", "1"),
        ("_TYPER_COMPLETE_ARGS", "groundset la"),
        ("_TYPER_COMPLETE_FISH_ACTION", "get-args"),
    ):
        monkeypatch.setenv(name, value)
    ran = run()
    assert (ran.status, "labels" in ran.out, "models" in ran.out) == (0, True, False)


def command_names(command, *path):
    yield path
    for name, below in getattr(command, "commands", {}).items():
        yield from command_names(below, *path, name)


COMMANDS = list(command_names(typer.main.get_command(commands.build_app())))


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_help_fits_sixty_columns(run_narrow, command):
    lines = run_narrow(*command, "--help")
    assert any(line.startswith("Usage: ") for line in lines)


def test_version(run):
    assert run("--version") == (0, f"groundset {__version__}\n", "")


def test_help_without_a_command(run):
    ran = run()
    assert "generate" in ran.out + ran.err


def test_help_is_quick_and_imports_nothing_heavy():
    script = (
        "import sys, contextlib, io, json, time, groundset.commands as commands\n"
        "with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()):\n"
        "    commands.main(['--help'])\n"
        "print(json.dumps([time.process_time(), *(set(sys.modules) & set(sys.argv[1:]))]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, *HEAVY], capture_output=True, text=True, check=True, timeout=60
    )
    seconds, *imported = json.loads(done.stdout)
    assert imported == []
    assert seconds < 2, "normally half a second"


def test_loading_notice(capsys, monkeypatch):
    with commands._loading_notice(["generate"]):
        pass
    monkeypatch.setattr(commands, "_NOTICE_SECONDS", 0.01)
    for arguments in (["generate", "--quiet"], ["generate", "--help"]):
        with commands._loading_notice(arguments):
            time.sleep(0.1)
    assert capsys.readouterr().err == ""
    with commands._loading_notice(["generate"]):
        time.sleep(0.3)
    assert capsys.readouterr().err == "Loading groundset.\n"


def test_telemetry_and_hub_are_off_before_any_command_runs():
    names = ["DO_NOT_TRACK", "MLFLOW_DISABLE_TELEMETRY", "HF_HUB_OFFLINE", "LITELLM_LOCAL_MODEL_COST_MAP"]
    script = (
        "import os, sys, groundset.commands as commands\n"
        "commands.build_app = lambda arguments: (lambda *a, **k: print([os.environ.get(name) for name in "
        "sys.argv[1:]]))\n"
        "commands.main([])"
    )
    environment = {key: value for key, value in os.environ.items() if key not in names}
    command = [sys.executable, "-c", script, *names]
    quiet = subprocess.run(command, capture_output=True, text=True, check=True, env=environment, timeout=60)
    assert quiet.stdout == "['true', 'true', '1', 'True']\n"
    environment["GROUNDSET_HUB"] = "1"
    asked = subprocess.run(command, capture_output=True, text=True, check=True, env=environment, timeout=60)
    assert asked.stdout == "['true', 'true', None, 'True']\n"


def test_broken_pipe():
    script = "import groundset.commands as commands, typer\n" + (
        "def app(*a, **k):\n    for n in range(100000): typer.echo(n)\n"
        "commands.build_app = lambda arguments: app\ncommands.main([])"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == ""
        assert process.wait(timeout=60) == 141


def test_interrupt_before_a_command_runs(run, monkeypatch):
    def interrupted(arguments: object) -> typer.Typer:
        raise KeyboardInterrupt

    monkeypatch.setattr(commands, "build_app", interrupted)
    ran = run("models", "list")
    assert (ran.status, ran.out, ran.err) == (130, "", "groundset: error: interrupted\n")
