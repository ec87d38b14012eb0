"""Runs side by side, as Python has them: what :func:`groundset.compare` returns."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from groundset.options import for_python, paths_of

if TYPE_CHECKING:
    import pandas as pd

    from groundset.report.comparison import RunComparison
    from groundset.run import Run


class Compared:
    """Two runs or more, each compared with the first.

    Attributes:
        record: runs, measures, differences, conclusions and notes, as ``groundset compare --json`` prints them.
    """

    def __init__(self, comparison: "RunComparison") -> None:
        """Hold a comparison; use :func:`compare` instead."""
        self._comparison = comparison
        self.record: dict[str, Any] = comparison.to_dict()

    def to_pandas(self) -> "pd.DataFrame":
        """Return a table with a row for each difference that was tested."""
        import pandas as pd

        return pd.DataFrame(self.record["differences"])

    @for_python
    def report(self, out: str | Path) -> Path:
        """Write the comparison as a page, and return its file.

        Raises:
            InputError: the file cannot be written.
        """
        from groundset.files import write_text
        from groundset.report.report import check_page

        (file,) = paths_of("out", out)
        check_page(file)
        write_text(file, self._comparison.page())
        return file

    def __repr__(self) -> str:
        """Return what was compared, and what came of it."""
        told = " ".join(self.record["conclusions"])
        return f"<Compared {', '.join(run['name'] for run in self.record['runs'])}: {told}>"


@for_python
def compare(runs: "Sequence[str | Path | Run]") -> Compared:
    """Compare runs with the first of them: their figures, and which differences are real.

    Raises:
        InputError: fewer than two are named, one is named twice, or one holds no run.
    """
    from groundset.report.comparison import compare_runs

    given = [runs] if isinstance(runs, str | Path) or hasattr(runs, "folder") else runs
    folders = [run if isinstance(run, str | Path) else run.folder for run in given]
    return Compared(compare_runs(paths_of("runs", folders)))
