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
from groundset.run.engine import Made
from groundset.run.options import GenerateOptions
from groundset.run.plan import Task
from groundset.tracking import Tracking


class Spans(BaseCallback):
    """Collects the spans of one attempt; the first is the attempt."""

    def __init__(self, task: Task) -> None:
        """Begin the attempt."""
        self.rows: dict[str, dict[str, Any]] = {}
        self.on_module_start("", task, {"chunks": task.chunks, "wanted": task.wanted})

    def on_module_start(self, call_id: str, instance: Any, inputs: dict[str, Any]) -> None:
        """Begin a step, a program, a call of a language model, or the attempt."""
        step, model = getattr(instance, "name", ""), getattr(instance, "model", "")
        parent = self.rows.get(ACTIVE_CALL_ID.get() or "", self.rows.get(""))
        name = (
            step or model or (type(instance).__name__ if call_id else f"attempt {instance.number}")
        )
        kind = "CHAT_MODEL" if model else "LLM" if step else "CHAIN"
        self.rows[call_id] = {
            **{
                "name": name,
                "span_id": uuid.uuid4().hex[:16],
                "parent_span_id": parent and parent["span_id"],
            },
            "attributes": {
                "mlflow.spanType": kind,
                "mlflow.spanInputs": to_jsonable_python(inputs, fallback=_shown),
            },
            **{
                "start_time_unix_nano": time.time_ns(),
                "end_time_unix_nano": None,
                "status": {"code": "UNSET"},
            },
        }

    def on_module_end(
        self, call_id: str, outputs: Any, exception: BaseException | None = None
    ) -> None:
        """End what began."""
        said = str(exception) if exception else to_jsonable_python(outputs, fallback=_shown)
        self.rows[call_id]["attributes"]["mlflow.spanOutputs"] = said
        status = {"code": "ERROR" if exception else "OK"}
        self.rows[call_id] |= {"end_time_unix_nano": time.time_ns(), "status": status}

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
        self._store, self._run = (
            Tracking(options.tracking, texts=options.track_texts),
            options.out.name,
        )
        self._attempt, self._notify, self._guard, self._failed = (
            attempt,
            notify,
            threading.Lock(),
            False,
        )

    def __call__(self, task: Task) -> Made:
        """Make an attempt and log it, also if an exception ends it."""
        spans, made = Spans(task), None
        try:
            with dspy.context(callbacks=[*dspy.settings.callbacks, spans]):
                made = self._attempt(task)
            return made
        finally:
            sample = made and made.result.sample
            tags = {
                "run": self._run,
                "attempt": str(task.number),
                "chunk_id": ", ".join(task.chunks),
            }
            tags |= {"sample_id": sample.id} if sample else {}
            spans.on_module_end(
                "", sample.question if sample else made and made.result.rejects, sys.exception()
            )
            with self._guard:
                try:
                    if not self._failed:
                        self._store.log_trace(list(spans.rows.values()), tags)
                except TrackingError as error:
                    self._failed = True
                    self._notify(f"no more traces: {error}")


def _shown(value: Any) -> Any:
    return dict(value) if hasattr(value, "keys") else str(value)
