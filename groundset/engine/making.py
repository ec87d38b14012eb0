"""A run as commands and Python make it: options are checked, the run is generated, and logged in MLflow."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from groundset.engine.config import make_config
from groundset.engine.generation import RunResult, run_generation
from groundset.progress import Progress
from programs.errors import InputError, RunError, TrackingError

if TYPE_CHECKING:
    from groundset.tracking.runs import Tracked


class MadeRun(NamedTuple):
    """A run and its entry in the tracking store, or in ``untracked`` why it has none."""

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
    engine: str = "local",
) -> MadeRun:
    """Start the run in ``out``, or continue it, and log it in MLflow once it has finished.

    Args:
        given: options by field name; see :func:`groundset.engine.config.make_config`.
        out: the folder of the run.
        config: a file of options.
        track: log the run in MLflow; a failure to do so is reported in ``untracked``.
        track_texts: send the samples to a tracking server too.
        tracking: the store, for champions too; see :func:`groundset.tracking.location.tracking_location`.
        verbose: name every file; let the runtime's log through.
        quiet: show no progress.
        again: called at a second signal; see :func:`groundset.engine.stop.stop_on_signals`.
        started: when the calling process started, by ``time.monotonic``; now by default.
        engine: where the corpus is read, analysed and embedded; see :func:`groundset.executors.open_executor`.

    Raises:
        InputError: the input, an option or the folder is wrong.
        GroundsetError: the run cannot continue; finished work is stored.
    """
    options = make_config(given, config)
    progress = Progress(quiet=quiet)
    result = run_generation(
        options,
        out,
        progress=progress,
        verbose=verbose,
        again=again,
        started=started,
        tracking=tracking,
        engine=engine,
    )
    if not track or result.ending in ("budget", "interrupted"):
        return MadeRun(result)
    try:
        return MadeRun(result, tracked=_track(result.files.record, tracking, track_texts, progress))
    except (InputError, RunError, TrackingError) as error:
        return MadeRun(result, untracked=f"Not tracked: {error} (--no-track disables tracking)")


def _track(record: Path, tracking: str | None, texts: bool, progress: Progress) -> "Tracked":
    from groundset.tracking.location import tracking_location
    from groundset.tracking.runs import already_tracked, track

    if before := already_tracked(record, tracking_location(tracking, create=True), texts=texts):
        return before
    from groundset.tracking.store import TrackingStore

    with progress.waiting("Tracking the run"):
        store = TrackingStore.open(tracking, texts=texts)
        if store.host and texts:
            progress.note(f"Texts go to {store.host}, the tracking store.")
        return track(record, store)
