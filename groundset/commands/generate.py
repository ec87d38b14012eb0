"""`groundset generate`: documents in, an evaluation set out."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic import AfterValidator

from groundset.commands import start_time
from groundset.commands.declare import Command, Parameter, Quiet, Tracking, parameters_of, recipe_parameters
from groundset.engine.options import RunOptions
from groundset.options import ChunkingOptions, CommandOptions, option
from groundset.printing import say

_STATUS = {"complete": 0, "short": 3}
_SIGNALLED = 128


def _usable(out: Path) -> Path:
    from groundset.store.folder import check_usable

    check_usable(out)
    return out


class GenerateOptions(CommandOptions):
    """Make an evaluation set of questions, contexts and answers from documents.

    RUN then holds samples.jsonl, rejects.jsonl, run.json and run.sqlite. Ctrl-C stops cleanly, and the same
    command goes on where a run was stopped, even if it was killed. With a larger --size, or --ask all after easy,
    it adds to what is there. Exit status: 0 all samples were made, 3 fewer were possible, 2 the input or an option
    is wrong, 130 interrupted, 1 anything else.
    """

    out: Annotated[Path, AfterValidator(_usable)] = option(..., "The folder of the run.", metavar="RUN")
    config: Path | None = option(None, "Options from a TOML file or the run.json of a former run.", metavar="FILE")
    track: bool = option(True, "Log the run in MLflow.")
    track_texts: bool = option(False, "Send the samples to a tracking server too, with their passages.")
    tracking: Tracking
    verbose: bool = option(False, "Name every file; let the runtime's log through.", names=("-v",))
    quiet: Quiet


def generate_parameters(with_recipes: bool = True) -> list[Parameter]:
    """Return the parameters of a run: those of :class:`GenerateOptions`, and those that a file may give."""
    own, cuts = parameters_of(GenerateOptions), ChunkingOptions.model_fields
    layered = sorted(parameters_of(RunOptions, layered=True), key=lambda each: each.name in cuts)
    return [own[0], *layered, *own[1:], *(recipe_parameters() if with_recipes else ())]


def generate(values: Mapping[str, Any]) -> None:
    """Make the run, print its summary and end with its status."""
    started = start_time()
    from groundset.engine.generation import make_run
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
        say(f"Tracked as {tracked.run_id}{suffix}{withheld if tracked.withheld_from else ''}.")
    status = _STATUS[result.ending] if result.signal is None else _SIGNALLED + result.signal
    if not result.has_ended:
        # The runtime would crash if this process took it apart in the middle of a call.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
    if status:
        raise typer.Exit(status)


COMMAND = Command("generate", GenerateOptions, generate, rank=0, parameters=generate_parameters)
