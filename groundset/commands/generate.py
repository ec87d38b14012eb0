"""`groundset generate`: documents in, an evaluation set out."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic import AfterValidator

from groundset.commands import start_time
from groundset.commands.declare import Command, Engine, Parameter, Quiet, Tracking, parameters_of, recipe_parameters
from groundset.engine.options import RunOptions
from groundset.options import ChunkingOptions, CommandOptions, option
from groundset.printing import say

_STATUS = {"complete": 0, "short": 3, "budget": 3}
_SIGNALLED = 128


def _usable(out: Path) -> Path:
    from groundset.store.folder import check_usable

    check_usable(out)
    return out


class GenerateOptions(CommandOptions):
    """Make an evaluation set of questions, contexts and answers from documents.

    Writes samples.jsonl, rejects.jsonl, run.json and run.sqlite to RUN. Ctrl-C stops cleanly, and the same command
    continues a stopped or killed run. A larger --size, or --ask all after easy, adds samples to a run. Exit status: 0
    all samples were made, 3 fewer were possible or a budget ended the run, 2 the input or an option is wrong, 130
    interrupted, 1 anything else.
    """

    out: Annotated[Path, AfterValidator(_usable)] = option(..., "The folder of the run.", metavar="RUN")
    config: Path | None = option(None, "Options from a TOML file or the run.json of an earlier run.", metavar="FILE")
    track: bool = option(True, "Log the run in MLflow.")
    track_texts: bool = option(False, "Also send the samples, with their passages, to a tracking server.")
    tracking: Tracking
    engine: Engine
    verbose: bool = option(False, "Print the name of every file, and the log of the model runtime.", names=("-v",))
    quiet: Quiet


def generate_parameters(with_recipes: bool = True) -> list[Parameter]:
    """Return the parameters of a run: :class:`GenerateOptions`, and all options that a file may give."""
    own, chunking = parameters_of(GenerateOptions), ChunkingOptions.model_fields
    layered = sorted(parameters_of(RunOptions, layered=True), key=lambda each: each.name in chunking)
    return [own[0], *layered, *own[1:], *(recipe_parameters() if with_recipes else ())]


def generate(values: Mapping[str, Any]) -> None:
    """Make the run, print its summary and end with its status."""
    started = start_time()
    from groundset.engine.making import make_run
    from groundset.engine.stop import quit_hard

    options = GenerateOptions.parse({name: values[name] for name in GenerateOptions.model_fields})
    given = {name: value for name, value in values.items() if name not in GenerateOptions.model_fields}
    given["documents"] = tuple(given.pop("docs") or ())
    made = make_run(given, **dict(options), again=quit_hard, started=started)
    result = made.result
    if not options.quiet:
        for line in result.summary:
            say(line)
    if made.untracked:
        say(made.untracked, err=True)
    elif made.tracked and not options.quiet:
        from groundset.tracking.location import location_suffix

        tracked = made.tracked
        withheld = f", without samples (--track-texts sends them to {tracked.withheld_from})"
        suffix = location_suffix(tracked.uri, is_default=tracked.is_default)
        say(f"Logged to MLflow as run {tracked.run_id}{suffix}{withheld if tracked.withheld_from else ''}.")
    status = _STATUS[result.ending] if result.signal is None else _SIGNALLED + result.signal
    if not result.has_ended:
        # A normal exit would crash the model runtime in the middle of a call.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
    if status:
        raise typer.Exit(status)


COMMAND = Command("generate", GenerateOptions, generate, rank=0, parameters=generate_parameters)
