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
    """A run and what became of tracking it.

    ``tracked`` is its id, ``untracked`` why there is none, ``kept_from`` who keeps the store without the samples.
    """

    result: RunResult
    tracked: str | None = None
    untracked: str | None = None
    kept_from: str | None = None


def make_run(
    given: Mapping[str, Any],
    out: Path,
    *,
    config: Path | None = None,
    track: bool = True,
    track_texts: bool = False,
    verbose: bool = False,
    quiet: bool = False,
    again: Callable[[int], object] | None = None,
    started: float | None = None,
) -> MadeRun:
    """Begin the run in ``out``, or go on with it, and log it once it has finished.

    Args:
        given: options by field name; see :func:`groundset.runs.config.make_config`.
        out: the folder of the run.
        config: a file of options.
        track: log it in MLflow. A run that cannot be logged is finished all the same.
        track_texts: send the samples to a tracking server too.
        verbose: name every file; let the runtime's log through.
        quiet: show no progress.
        again: what a second signal does; see :func:`groundset.runs.stop.stopping_on_signals`.
        started: when that began which waits for the run, by ``time.monotonic``; now, if nobody says.

    Raises:
        InputError: the input, an option or the folder is wrong.
        GroundsetError: the run cannot go on; what was done is stored.
    """
    asked = make_config(given, config)
    progress = Progress(quiet=quiet)
    result = generation.run_generation(asked, out, progress=progress, verbose=verbose, again=again, started=started)
    if not track or result.ending not in _FINISHED:
        return MadeRun(result)
    from groundset.tracking.runs import log_generation
    from groundset.tracking.store import TrackingStore

    try:
        store = TrackingStore.open(texts=track_texts)
        if store.host and track_texts:
            progress.note(f"Texts go to {store.host}, the tracking store.")
        tracked = log_generation(result.files.record, store)
    except (InputError, TrackingError) as error:
        return MadeRun(result, untracked=f"Not tracked: {error} (--no-track leaves it out)")
    return MadeRun(result, tracked, kept_from=None if store.keeps_texts else store.host)
