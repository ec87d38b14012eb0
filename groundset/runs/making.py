"""From options to a finished run that is tracked: what both the command line and Python call."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from groundset.runs import generation
from groundset.runs.config import make_config
from groundset.runs.generation import RunResult
from groundset.runs.progress import Progress
from programs.errors import InputError, TrackingError

_FINISHED = ("complete", "short")


class MadeRun(NamedTuple):
    """A run and what became of tracking it: ``tracked`` is its id, ``untracked`` why there is none."""

    result: RunResult
    tracked: str | None = None
    untracked: str | None = None


def make_run(
    given: Mapping[str, Any],
    out: Path,
    *,
    config: Path | None = None,
    track: bool = True,
    verbose: bool = False,
    quiet: bool = False,
    again: Callable[[int], object] | None = None,
) -> MadeRun:
    """Begin the run in ``out``, or go on with it, and log it once it has finished.

    Args:
        given: options by field name; see :func:`groundset.runs.config.make_config`.
        out: the folder of the run.
        config: a file of options.
        track: log it in MLflow. A run that cannot be logged is finished all the same.
        verbose: name every file; let the runtime's log through.
        quiet: show no progress.
        again: what a second signal does; see :func:`groundset.runs.stop.stopping_on_signals`.

    Raises:
        InputError: the input, an option or the folder is wrong.
        GroundsetError: the run cannot go on; what was done is stored.
    """
    asked = make_config(given, config)
    result = generation.run_generation(asked, out, progress=Progress(quiet=quiet), verbose=verbose, again=again)
    if not track or result.ending not in _FINISHED:
        return MadeRun(result)
    from groundset.tracking.runs import log_generation

    try:
        return MadeRun(result, tracked=log_generation(result.files.record))
    except (InputError, TrackingError) as error:
        return MadeRun(result, untracked=f"Not tracked: {error} (--no-track leaves it out)")
