"""The MLflow runs of compiles that are under way."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from types import TracebackType
from typing import Any, Self

from groundset.tracking.compiles import CompileStore
from groundset.tracking.place import where
from optimizers.report import CompileReport
from programs.errors import InputError, TrackingError


class CompileRuns:
    """Keeps an MLflow run for each step from the start of its compile.

    Its report ends a run. One that has no report when the block ends is marked KILLED after Ctrl-C and FAILED, with the
    error, after anything else. A store that cannot be opened is told of once and costs no compile.
    """

    def __init__(
        self, open_store: Callable[[], CompileStore] | None, tell: Callable[[InputError | TrackingError], object]
    ) -> None:
        """Open nothing yet; without ``open_store`` nothing is tracked, and ``tell`` is told why a store failed."""
        self._open_store, self._tell = open_store, tell
        self._store: CompileStore | None = None
        self._runs: dict[str, str] = {}

    def __enter__(self) -> Self:
        """Begin without runs."""
        return self

    @property
    def texts_kept_back_from(self) -> str | None:
        """Return the host of a store that gets figures only, None if there is none."""
        return None if self._store is None or self._store.keeps_texts else self._store.host

    @property
    def where(self) -> str:
        """Return " in " and the store, or nothing if it is the user's own one."""
        return "" if self._store is None else where(self._store.uri, usual=self._store.usual)

    def start(self, step: str, model: str, optimizer: str, parameters: Mapping[str, Any]) -> None:
        """Start the run of a step."""
        if self._open_store is None:
            return
        try:
            self._store = self._store or self._open_store()
            self._runs[step] = self._store.start_compile(step, model, optimizer, parameters)
        except (InputError, TrackingError) as error:
            self._open_store = None
            self._tell(error)

    def finish(self, report: CompileReport) -> str | None:
        """Log a report in the run of its step and return the run's id, None if it is not tracked."""
        run_id = self._runs.get(report.state.step)
        if self._store is None or run_id is None:
            return None
        tracked: str | None = run_id
        try:
            self._store.log_compile(report, run_id)
        except TrackingError as error:
            self._end(run_id, error)
            self._tell(error)
            tracked = None
        del self._runs[report.state.step]
        return tracked

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Mark the runs that have no report."""
        if error is not None:
            for run_id in self._runs.values():
                self._end(run_id, error)

    def _end(self, run_id: str, error: BaseException) -> None:
        with suppress(TrackingError):  # what ended the compile is told instead
            if self._store is not None:
                self._store.end_compile(run_id, error)
