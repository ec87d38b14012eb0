"""A run in the format of another tool."""

from datetime import UTC, datetime
from pathlib import Path

from groundset.exports import EXPORTS
from groundset.exports.base import Exported
from programs.errors import InputError


def export_run(run: Path, format: str, out: Path) -> Exported:
    """Write the samples of a run as questions, and all of its chunks as the corpus.

    Files of an earlier export are replaced; a folder that holds anything else is refused.

    Raises:
        InputError: there is no such format or run, or the folder cannot be written.
    """
    from groundset.runs.store import RunStore

    if format not in EXPORTS:
        raise InputError(f"--format {format}: no such format; choose one of {', '.join(EXPORTS)}")
    with RunStore.read(run) as store:
        begun, _ = store.spent()
        return EXPORTS[format].write(
            list(store.results.samples()),
            store.chunks(),
            store.documents(),
            out,
            made_at=datetime.fromisoformat(begun) if begun else datetime.now(UTC),
        )
