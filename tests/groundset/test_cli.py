"""The command line: exit statuses, messages, help, start-up time and privacy."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from pkgutil import resolve_name
from typing import Literal, NamedTuple

import pytest
import typer

from groundset import __version__, cli
from groundset.options import Options, option
from groundset.programs.errors import InputError, ModelError

HEAVY = (
    "dspy",
    "torch",
    "transformers",
    "sentence_transformers",
    "mlflow",
    "pandas",
    "numpy",
    "litellm",
    "pydantic",
)
ROOT = Path(__file__).parents[2]


class Ran(NamedTuple):
    status: int
    out: str
    err: str


class CookOptions(Options):
    """Cook a dish.

    Slowly.
    """

    dishes: tuple[str, ...] = option(..., "What to cook.", metavar="DISH", argument=True)
    out: Path = option(..., "The plate.", metavar="PLATE")
    minutes: int = option(20, "How long.", ge=1)
    heat: Literal["low", "high"] = option("low", "Which heat.")
    herbs: tuple[str, ...] = option((), "Herbs. Repeatable.")
    lid: bool | None = option(None, "Whether with a lid.", shown="as the dish wants")
    salt: bool = option(True, "Salt it.")
    price: float | None = option(None, "Its price.", gt=0)
    as_json: bool = option(False, "Print JSON.", command_only=True)


done = []
fails = []


def cook(options: CookOptions):
    if fails:
        raise fails.pop()
    done.append(options)
    return 3 if options.minutes < 5 else None


@pytest.fixture
def run(capsys, monkeypatch, status_of) -> Callable[..., Ran]:
    """Run the command line in this process, with a command `cook` and a group with `food serve`."""
    done.clear()
    monkeypatch.setitem(sys.modules, "kitchen", sys.modules[__name__])
    monkeypatch.setattr(cli, "COMMANDS", {**cli.COMMANDS, "cook": ("kitchen:cook", "Cook a dish.")})
    for name in ("COLUMNS", "GROUNDSET_DEBUG"):
        monkeypatch.delenv(name, raising=False)

    def run(*arguments):
        return Ran(status_of(*arguments), *capsys.readouterr())

    return run


def test_options_become_arguments(run):
    assert (
        run(
            "cook", "soup", "stew", "--out", "p", "--herbs", "dill", "--herbs", "mint", "--no-lid"
        ).status
        == 0
    )
    assert done[0] == CookOptions(
        dishes=("soup", "stew"), out=Path("p"), herbs=("dill", "mint"), lid=False
    )
    assert done[0].model_fields_set == {"dishes", "out", "herbs", "lid"}, (
        "what is not given keeps its default"
    )
    assert (
        run(
            "cook", "soup", "--out", "p", "--minutes", 3, "--no-salt", "--json", "--heat=high"
        ).status
        == 3
    )
    assert done[1].minutes == 3
    assert done[1].salt is False
    assert done[1].as_json is True
    assert done[1].heat == "high"


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (
            "cook a --out p --minutes 0 --heat hot",
            "--minutes 0: input should be greater than or equal to 1; --heat hot: input should be"
            " 'low' or 'high'",
        ),
        (
            "cook a --out p --minutes many",
            "--minutes many: input should be a valid integer, unable to parse string as an integer",
        ),
        ("cook a --out p --price -1", "--price -1: input should be greater than 0"),
        ("cook a", "missing option '--out'"),
        ("cook --out p", "missing argument 'DISH'"),
        ("cook a --out p --spice hot", "no such option: --spice (Possible options: --price)"),
        ("bake", "no such command 'bake'"),
        ("cok a", "no such command 'cok'. Did you mean 'cook'?"),
    ],
)
def test_wrong_arguments(run, arguments, line):
    assert run(*arguments.split()) == (2, "", f"groundset: error: {line}\n")


@pytest.mark.parametrize(
    "arguments", [("cook", "", "--out", "p"), ("cook", "a", "--out="), ("cook", "a", "--out", "")]
)
def test_empty_arguments_are_refused(run, arguments):
    ran = run(*arguments)
    assert ran.status == 2
    assert ran.err.endswith(": the value is empty; give one or omit it\n")
    assert done == []


def wrapped(error):
    other = RuntimeError("litellm.Exception: wrapped")
    other.__cause__ = error
    return other


@pytest.mark.parametrize(
    ("error", "status", "line"),
    [
        (InputError("no documents\nwere named"), 2, "groundset: error: no documents were named\n"),
        (ModelError("it crashed"), 1, "groundset: error: it crashed\n"),
        (wrapped(ModelError("it crashed")), 1, "groundset: error: it crashed\n"),
        (
            RuntimeError("boom"),
            1,
            (
                "groundset: error: unexpected RuntimeError: boom (set GROUNDSET_DEBUG=1 for a"
                " traceback)\n"
            ),
        ),
        (KeyboardInterrupt(), 130, "groundset: error: interrupted\n"),
        (typer.Abort(), 1, "groundset: error: aborted\n"),
        (SystemExit(130), 130, ""),
        (typer.Exit(3), 3, ""),
    ],
)
def test_exit_statuses(run, error, status, line):
    fails.append(error)
    assert run("cook", "a", "--out", "p") == (status, "", line)


def test_traceback_with_debug_variable(run, monkeypatch):
    monkeypatch.setenv("GROUNDSET_DEBUG", "1")
    fails.append(RuntimeError("boom"))
    ran = run("cook", "a", "--out", "p")
    assert "Traceback" in ran.err
    assert "unexpected RuntimeError: boom" in ran.err.splitlines()[-1]


def test_help_of_a_command(run):
    ran = run("cook", "--help")
    text = " ".join(ran.out.split())
    assert text.startswith(
        "Usage: groundset cook [OPTIONS] {DISH}... Cook a dish. Slowly. Arguments: DISH"
    )
    for piece in (
        "--out PLATE The plate. [required]",
        "--minutes <int> How long. [default: 20]",
        "--heat <low|high> Which heat. [default: low]",
        "--lid / --no-lid Whether with a lid. [default: as the dish wants]",
        "--salt / --no-salt Salt it.",
        "--price <float> Its price. --json Print JSON. -h",
    ):
        assert piece in text


def test_help_lists_commands(run):
    ran = run("--help")
    assert ran.status == 0
    listed = re.findall(r"^  ([a-z]+)  +[A-Z]", ran.out, re.MULTILINE)
    assert listed == [*dict.fromkeys(name.split()[0] for name in cli.COMMANDS)]
    assert run().err == ran.out, "without a command"
    assert "check  " in run("labels").err


@pytest.mark.parametrize("command", list(cli.COMMANDS))
def test_every_command_has_help_that_fits_sixty_columns(run, monkeypatch, command):
    monkeypatch.setenv("COLUMNS", "60")
    ran = run(*command.split(), "--help")
    assert ran.status == 0
    assert ran.out.startswith(f"Usage: groundset {command} ")
    assert max(len(line.rstrip()) for line in ran.out.splitlines()) <= 60


def test_every_command_takes_documented_options():
    for target, _ in cli.COMMANDS.values():
        options = cli.options_of(resolve_name(target))
        assert options.__doc__
        for name, field in options.model_fields.items():
            assert field.description, f"{target}: {name}"


def test_version(run):
    assert run("--version") == (0, f"groundset {__version__}\n", "")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion(run, monkeypatch, shell):
    monkeypatch.setenv("_GROUNDSET_COMPLETE", f"source_{shell}")
    assert f"_GROUNDSET_COMPLETE=complete_{shell}" in run().out
    monkeypatch.setenv("_GROUNDSET_COMPLETE", f"complete_{shell}")
    for words, wanted in (("groundset coo", "cook"), ("groundset cook --min", "--minutes")):
        monkeypatch.setenv("COMP_WORDS", words)
        monkeypatch.setenv("COMP_CWORD", str(len(words.split()) - 1))
        monkeypatch.setenv("_TYPER_COMPLETE_ARGS", words)
        monkeypatch.setenv("_TYPER_COMPLETE_FISH_ACTION", "get-args")
        assert wanted in run().out


def start(script, *arguments, **options):
    """Run Python with the packages on the path."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **options.pop("env", {})}
    command = [sys.executable, "-c", script, *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=60, env=environment, **options
    )


def test_help_is_quick_and_imports_nothing_heavy():
    script = (
        "import sys, contextlib, io, json, time, groundset.cli as cli\n"
        "with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()):\n"
        "    cli.main(['--help'])\n"
        "print(json.dumps([time.process_time(), *(set(sys.modules) & set(sys.argv[1:]))]))"
    )
    seconds, *imported = json.loads(start(script, *HEAVY).stdout)
    assert imported == []
    assert seconds < 1, "normally a fifth of a second"


def test_telemetry_and_hub_are_off_before_any_command_runs():
    names = [
        "DO_NOT_TRACK",
        "MLFLOW_DISABLE_TELEMETRY",
        "HF_HUB_OFFLINE",
        "LITELLM_LOCAL_MODEL_COST_MAP",
    ]
    script = (
        "import os, sys, groundset.cli as cli\ncli.build_app = lambda: (lambda *a, **k:"
        " print([os.environ.get(name) for name in sys.argv[1:]]))\ncli.main([])"
    )
    kept = {name: os.environ.pop(name) for name in names if name in os.environ}
    try:
        assert start(script, *names).stdout == "['true', 'true', '1', 'True']\n"
        assert (
            start(script, *names, env={"GROUNDSET_HUB": "1"}).stdout
            == "['true', 'true', None, 'True']\n"
        )
    finally:
        os.environ.update(kept)


def test_closed_output_does_no_harm():
    script = (
        "import sys\nsys.stdout = sys.stderr = None\nfrom groundset.cli import"
        " main\nmain(['--version'])"
    )
    assert start(script).returncode == 0
    command = [sys.executable, "-c", "from groundset.cli import main; main()", "--help"]
    shell = subprocess.run(
        ["sh", "-c", 'exec "$@" >&-', "sh", *command],
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        check=False,
    )
    assert shell.returncode == 0
    assert shell.stderr == ""


def test_broken_pipe():
    script = (
        "import groundset.cli as cli, typer\n"
        "def app(*a, **k):\n    for n in range(100000): typer.echo(n)\n"
        "cli.build_app = lambda: app\ncli.main([])"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    ) as process:
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == ""
        assert process.wait(timeout=60) == 141
