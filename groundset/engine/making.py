"""From options to a finished run that is tracked: what both the command line and Python call."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from groundset.engine import generation
from groundset.engine.config import make_config
from groundset.engine.generation import RunResult
from groundset.progress import Progress
from programs.errors import InputError, RunError, TrackingError

if TYPE_CHECKING:
    from groundset.tracking.runs import Tracked

_FINISHED = ("complete", "short")


class MadeRun(NamedTuple):
    """A run and what became of tracking it: ``tracked`` says as what and where, ``untracked`` why it is not."""

    result: RunResult
    tracked: "Tracked | None" = None
    untracked: str | None = None


def make_run(
    given: Mapping[str, Any],
    out: Path,
    *,
    config: Path | None = None,
    track: bool = True,
    track_texts: bool = False,
    tracking: str | None = None,
    verbose: bool = False,
    quiet: bool = False,
    again: Callable[[int], object] | None = None,
    started: float | None = None,
) -> MadeRun:
    """Begin the run in ``out``, or go on with it, and log it once it has finished.

    Args:
        given: options by field name; see :func:`groundset.engine.config.make_config`.
        out: the folder of the run.
        config: a file of options.
        track: log it in MLflow. A run that cannot be logged is finished all the same.
        track_texts: send the samples to a tracking server too.
        tracking: the store, for champions too; see :func:`groundset.tracking.place.tracking_place`.
        verbose: name every file; let the runtime's log through.
        quiet: show no progress.
        again: what a second signal does; see :func:`groundset.engine.stop.stopping_on_signals`.
        started: when that began which waits for the run, by ``time.monotonic``; now, if nobody says.

    Raises:
        InputError: the input, an option or the folder is wrong.
        GroundsetError: the run cannot go on; what was done is stored.
    """
    asked = make_config(given, config)
    progress = Progress(quiet=quiet)
    result = generation.run_generation(
        asked, out, progress=progress, verbose=verbose, again=again, started=started, tracking=tracking
    )
    if not track or result.ending not in _FINISHED:
        return MadeRun(result)
    try:
        return MadeRun(result, tracked=_track(result.files.record, tracking, track_texts, progress))
    except (InputError, RunError, TrackingError) as error:
        return MadeRun(result, untracked=f"Not tracked: {error} (--no-track leaves it out)")


def _track(record: Path, tracking: str | None, texts: bool, progress: Progress) -> "Tracked":
    from groundset.tracking.place import tracking_place
    from groundset.tracking.runs import track, tracked_before

    if before := tracked_before(record, tracking_place(tracking, create=True), texts=texts):
        return before
    from groundset.tracking.store import TrackingStore

    with progress.waiting("Tracking the run"):
        store = TrackingStore.open(tracking, texts=texts)
        if store.host and texts:
            progress.note(f"Texts go to {store.host}, the tracking store.")
        return track(record, store)
