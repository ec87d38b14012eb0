"""The Python face: names, signatures, documentation and errors of functions."""

import inspect
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from pkgutil import resolve_name
from types import SimpleNamespace
from typing import Any, Literal

import pytest
from evaluation_sets import saved
from refusal import refuses

import groundset
from groundset import api, cli
from groundset.options import Options, option
from groundset.programs.errors import InputError

ROOT = Path(__file__).parents[2]


class CookOptions(Options):
    """Cook a dish."""

    dishes: tuple[Path, ...] = option(..., "What to cook.", metavar="DISH", argument=True)
    out: Path | None = option(None, "The plate.", metavar="PLATE")
    minutes: int = option(20, "How long; see --out.", ge=1)
    herbs: tuple[str, ...] = option((), "Herbs.")
    guests: Path | str | None = option(None, "Who comes.")
    heat: Literal["low", "high"] = option("low", "Which heat.")
    as_json: bool = option(False, "Print JSON.", command_only=True)


def serve(guest, options: CookOptions):
    """Serve dishes to a guest.

    Raises:
        InputError: there are none.
    """
    if not options.dishes:
        raise InputError("DISH: name one, or see --out and `groundset cook --help`")
    return guest, options


class Folder:
    """Stands for a run."""

    folder = Path("kitchen")


@pytest.fixture
def cook() -> Callable[..., Any]:
    return api.with_keywords(serve, ("dishes",))


def test_signature_and_documentation_are_made_from_the_options(cook):
    signature = inspect.signature(cook)
    assert list(signature.parameters) == [
        "guest",
        "dishes",
        "out",
        "minutes",
        "herbs",
        "guests",
        "heat",
    ]
    assert signature.parameters["minutes"].default == 20
    assert signature.parameters["out"].kind == inspect.Parameter.KEYWORD_ONLY
    assert cook.__doc__.splitlines() == [
        "Serve dishes to a guest.",
        "",
        "    Args:",
        "        dishes: What to cook.",
        "        out: The plate.",
        "        minutes: How long; see out. Default: 20.",
        "        herbs: Herbs.",
        "        guests: Who comes.",
        "        heat: Which heat. Default: low.",
        "",
        "    Raises:",
        "        InputError: there are none.",
        "    ",
    ]


def test_arguments_become_options(cook, monkeypatch):
    monkeypatch.setenv("HOME", "/home/me")
    guest, options = cook(
        "Ann", ["~/soup", Folder()], herbs="dill", out=Folder(), minutes=5, guests="http://a#1"
    )
    assert guest == "Ann"
    assert options == CookOptions(
        dishes=(Path("/home/me/soup"), Path("kitchen")),
        herbs=("dill",),
        out=Path("kitchen"),
        minutes=5,
        guests="http://a#1",
    )
    assert cook("Ann", "soup", out=None)[1] == CookOptions(dishes=(Path("soup"),))


def test_errors_name_parameters(cook):
    with refuses(
        "^minutes 0: input should be greater than or equal to 1; heat hot: input should be 'low' or"
    ):
        cook("Ann", "soup", minutes=0, heat="hot")
    with refuses(r"^DISH: name one, or see out and `groundset cook --help`$"):
        cook("Ann", [])
    with refuses("unexpected keyword argument 'salt'", TypeError):
        cook("Ann", "soup", salt=1)
    for path in ("", "a\0b"):
        with refuses("a path must not be empty, nor contain a carriage return or NUL"):
            cook("Ann", path)
    with refuses("dishes", TypeError):
        cook("Ann")


def test_every_public_name_is_found_and_listed():
    assert set(groundset.__all__) <= set(dir(groundset))
    for name in groundset.__all__:
        assert getattr(groundset, name) is not None, name
    with refuses("no attribute 'cook'", AttributeError):
        groundset.cook  # noqa: B018


@pytest.mark.parametrize("name", list(api.FUNCTIONS))
def test_functions_are_documented(name):
    function = getattr(groundset, name)
    assert function.__name__ == name
    own = {"kind", "rows"}
    for parameter in inspect.signature(function).parameters.keys() - own:
        assert f"        {parameter}: " in function.__doc__


def test_functions_have_the_options_of_their_commands():
    names = {"import_files": "import"}
    for name in api.FUNCTIONS:
        options = cli.options_of(resolve_name(cli.COMMANDS[names.get(name, name)][0])).model_fields
        parameters = inspect.signature(getattr(groundset, name)).parameters
        own = {"texts", "program", "kind", "rows"}
        assert set(parameters) - own <= set(options), name


def test_import_is_quick_and_imports_nothing_heavy():
    script = (
        "import json, sys, time, groundset\n"
        "print(json.dumps([time.process_time(), *(set(sys.modules) & set(sys.argv[1:]))]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, "dspy", "torch", "numpy", "pydantic"],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
        cwd=ROOT,
    )
    seconds, *imported = json.loads(done.stdout)
    assert imported == []
    assert seconds < 0.5


def test_passages_are_taken_as_texts(tmp_path, monkeypatch):
    made = []
    monkeypatch.setitem(
        sys.modules, "groundset.run.generate", SimpleNamespace(make_run=made.append)
    )
    out = tmp_path / "run"
    passages = [
        "The ferry leaves at nine.",
        {"text": "It reaches Osthavn at ten.", "title": "Ferries"},
    ]
    for _ in range(2):
        groundset.generate(texts=passages, out=out, size=3)
    assert made[0] == made[1]
    assert made[0].chunks == tmp_path / "run.texts.jsonl"
    assert made[0].size == 3
    corpus = groundset.chunk(chunks=made[0].chunks)
    assert [(chunk.text, chunk.title) for chunk in corpus.chunks][1] == (
        "It reaches Osthavn at ten.",
        "Ferries",
    )
    with refuses("texts and chunks: give one of them"):
        groundset.generate(texts=passages, chunks=made[0].chunks, out=out)
    assert next(iter(inspect.signature(groundset.generate).parameters)) == "documents"


def test_functions_are_methods_of_runs(tmp_path):
    run = saved(tmp_path / "run")
    assert run.export("csv", tmp_path / "csv").questions == 2
    assert groundset.export([run], "csv", tmp_path / "other").questions == 2
    assert groundset.Run.export is groundset.export
    with refuses(r"were filtered are not saved; call its save\(FOLDER\) first"):
        run.filter(lambda sample: True).export("csv", tmp_path / "third")


@pytest.mark.model
def test_five_lines_in_a_notebook():
    import dspy

    dspy.configure(lm=groundset.lm("smollm2-135m"))
    program = groundset.OneChunk()
    made = program(
        passage="The ferry leaves Tollvik at nine. It reaches Osthavn at ten.", topic="Ferries"
    )
    assert isinstance(made, dspy.Prediction)
    assert bool(made.question) != bool(made.rejects)
    assert isinstance(made.answer, str)
    assert isinstance(made.evidence, list)
    assert {"ask", "judge", "revise", "compare"} <= {name for name, _ in program.named_predictors()}
