"""`generate --trace`: each attempt as a trace of MLflow; spans are its steps and their calls."""

import sys
import threading
import time
import uuid
from collections.abc import Callable
from typing import Any

import dspy
from dspy.utils.callback import ACTIVE_CALL_ID, BaseCallback
from pydantic_core import to_jsonable_python

from groundset.programs.errors import TrackingError
from groundset.programs.types import Sample
from groundset.run.engine import Made
from groundset.run.options import GenerateOptions
from groundset.run.plan import Task
from groundset.run.store import Result
from groundset.tracking import Tracking


class Spans(BaseCallback):
    """Collects the spans of one attempt; the first is the attempt."""

    def __init__(self, task: Task) -> None:
        """Begin the attempt."""
        self.rows: dict[str, dict[str, Any]] = {}
        self.on_module_start("", task, {"chunks": task.chunks, "wanted": task.wanted})

    def on_module_start(self, call_id: str, instance: Any, inputs: dict[str, Any]) -> None:
        """Begin a step, a program, a call of a language model, or the attempt."""
        step = getattr(instance, "name", "")
        model = getattr(instance, "model", "")
        other = type(instance).__name__ if call_id else f"attempt {instance.number}"
        parent = self.rows.get(ACTIVE_CALL_ID.get() or "", self.rows.get(""))
        self.rows[call_id] = {
            "name": step or model or other,
            "span_id": uuid.uuid4().hex[:16],
            "parent_span_id": parent and parent["span_id"],
            "attributes": {
                "mlflow.spanType": "CHAT_MODEL" if model else "LLM" if step else "CHAIN",
                "mlflow.spanInputs": to_jsonable_python(inputs, fallback=_shown),
            },
            "start_time_unix_nano": time.time_ns(),
            "end_time_unix_nano": None,
            "status": {"code": "UNSET"},
        }

    def on_module_end(
        self, call_id: str, outputs: Any, exception: BaseException | None = None
    ) -> None:
        """End what began."""
        shown = str(exception) if exception else to_jsonable_python(outputs, fallback=_shown)
        row = self.rows[call_id]
        row["attributes"]["mlflow.spanOutputs"] = shown
        row["end_time_unix_nano"] = time.time_ns()
        row["status"] = {"code": "ERROR" if exception else "OK"}

    on_lm_start, on_lm_end = on_module_start, on_module_end


class Traced:
    """Makes attempts, and logs each until the store fails; safe to share between threads."""

    def __init__(
        self,
        attempt: Callable[[Task], Made],
        options: GenerateOptions,
        notify: Callable[[str], object],
    ) -> None:
        """Open the store of a run; ``notify`` gets a line if it fails."""
        self._store = Tracking(options.tracking, texts=options.track_texts)
        self._run = options.out.name
        self._attempt = attempt
        self._notify = notify
        self._guard = threading.Lock()
        self._failed = False

    def __call__(self, task: Task) -> Made:
        """Make an attempt and log it, also if an exception ends it."""
        spans = Spans(task)
        result = Result()
        try:
            with dspy.context(callbacks=[*dspy.settings.callbacks, spans]):
                outcome = self._attempt(task)
            result = outcome.result
            return outcome
        finally:
            sample = result.sample
            spans.on_module_end("", sample.question if sample else result.rejects, sys.exception())
            self._log(task, sample, list(spans.rows.values()))

    def _log(self, task: Task, sample: Sample | None, rows: list[dict[str, Any]]) -> None:
        tags = {
            "run": self._run,
            "attempt": str(task.number),
            "chunk_id": ", ".join(task.chunks),
        }
        if sample:
            tags["sample_id"] = sample.id
        with self._guard:
            try:
                if not self._failed:
                    self._store.log_trace(rows, tags)
            except TrackingError as error:
                self._failed = True
                self._notify(f"no more traces: {error}")


def _shown(value: Any) -> Any:
    return dict(value) if hasattr(value, "keys") else str(value)
