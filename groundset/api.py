"""Runs that exist already, from Python: :func:`open_run`, :func:`import_files` and :func:`merge`."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from groundset.options import DEFAULT_EMBEDDER, for_python, paths_of

if TYPE_CHECKING:
    from groundset.opened import OpenedRun


@for_python
def open_run(path: str | Path) -> "OpenedRun":
    """Open the folder of a run, finished or not, to read it.

    Raises:
        InputError: the folder holds no run.
    """
    from groundset.opened import OpenedRun
    from groundset.store.record import read_record

    (folder,) = paths_of("path", path)
    run = OpenedRun(folder)
    with run.opened():
        run.record = read_record(folder)
    return run


@for_python
def import_files(
    files: str | Path | Iterable[str | Path],
    *,
    out: str | Path,
    format: str | None = None,
    embedder: str = DEFAULT_EMBEDDER,
    unanswered: bool = False,
    quiet: bool = False,
) -> "OpenedRun":
    """Make a run of an evaluation set that was made elsewhere, as `groundset import` does.

    Args:
        files: its files, or their folder.
        out: the folder of the new run.
        format: autorag, beir or jsonl; without it, the one that the files can only be of.
        embedder: the embedding model of its chunks and questions.
        unanswered: take questions without an answer too.
        quiet: show no progress.

    Raises:
        InputError: a file, a row or an option is wrong; the message names it, and nothing was written.
        ModelError: the embedder cannot be loaded.
    """
    from groundset.progress import Progress
    from groundset.sets.imports.importing import import_set

    (folder,) = paths_of("out", out)
    with Progress(quiet=quiet) as progress:
        import_set(
            paths_of("files", files),
            folder,
            format=format,
            embedder=embedder,
            unanswered=unanswered,
            progress=progress,
        )
    return open_run(folder)


@for_python
def merge(runs: "Iterable[str | Path | OpenedRun]", *, out: str | Path) -> "OpenedRun":
    """Make one run of several, as `groundset merge` does.

    Args:
        runs: two or more, or their folders.
        out: the folder of the new run.

    Raises:
        InputError: they do not go together; the message names the run, and nothing was written.
    """
    from groundset.sets.transforms.merge import merge_runs

    (folder,) = paths_of("out", out)
    merge_runs(paths_of("runs", [run if isinstance(run, str | Path) else run.folder for run in runs]), folder)
    return open_run(folder)
