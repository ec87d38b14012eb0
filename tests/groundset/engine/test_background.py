"""Attempts begin while chunks are prepared, and make what they would make afterwards."""

import os
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scripted_run
from scripted_run import CRITICS, ScriptedEngine, StoppingEngine, lm_opener, scripted_recipe, write_documents

from groundset.engine import assembly, preparation
from groundset.engine.background import Preparation
from groundset.engine.config import make_config
from groundset.engine.generation import RunResult, run_generation
from groundset.engine.models import Openers
from groundset.progress import Progress
from programs.errors import EngineError
from programs.types import Context

FILES = ("samples.jsonl", "rejects.jsonl")


class Critic(scripted_run.Critic):
    """Refuses a third of the chunks."""

    def __call__(self, state: Any, questions: dict[str, Any]) -> dict[str, Any]:
        found = super().__call__(state, questions)
        bad = sum(state["inputs"]["passage"].encode()) % 3 == 0
        return {name: {"noul": 0.1} if bad and "noul" in answer else answer for name, answer in found.items()}


class Waiting(ScriptedEngine):
    """Notes that it was called."""

    def __init__(self) -> None:
        super().__init__()
        self.called = threading.Event()

    def complete(self, request: Any) -> Any:
        self.called.set()
        return super().complete(request)


def generate(docs: Path, out: Path, engine: Any, encoder: Any = scripted_run.Encoder, **options: Any) -> RunResult:
    critics = {**CRITICS, "chunk": Critic()}
    given = {"documents": (docs,), "size": 12, "chunk_size": 300, "min_length": 50, **options}
    return run_generation(
        make_config(given),
        out,
        progress=Progress(quiet=True),
        openers=Openers(lm_opener(engine), encoder, lambda spec, **parts: critics),
        recipe=scripted_recipe(),
    )


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    return write_documents(tmp_path / "docs", documents=12, paragraphs=6)


@pytest.fixture
def expected(docs: Path, tmp_path: Path, _small_slices: None) -> list[bytes]:
    assert generate(docs, tmp_path / "before", ScriptedEngine()).ending == "complete"
    found = contents(tmp_path / "before")
    assert b'"step": "chunk"' in found[1]
    return found


@pytest.fixture
def _small_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preparation, "_FIRST_SLICE", 4)
    monkeypatch.setattr(preparation, "_SLICE", 8)
    monkeypatch.setattr(preparation, "_TEXTS_AT_ONCE", 4)


def contents(out: Path) -> list[bytes]:
    return [(out / name).read_bytes() for name in FILES]


def encoder_after(event: threading.Event, *, of_batch: int = 2) -> Callable[[str], Any]:
    """Return a class of encoders that embed this batch of chunks, and later ones, once an event has happened."""

    class Late(scripted_run.Encoder):
        def __init__(self, name: str) -> None:
            super().__init__(name)
            self.batches = 0

        def encode_corpus(self, texts: Sequence[str], *, on_done: Any = None) -> np.ndarray:
            self.batches += 1
            assert self.batches < of_batch or event.wait(60), "no attempt began"
            return super().encode_corpus(texts, on_done=on_done)

    return Late


@pytest.mark.parametrize("workers", [1, 8])
def test_attempts_begin_before_all_chunks_are_ready(
    docs: Path, expected: list[bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, workers: int
) -> None:
    monkeypatch.setattr(assembly, "MIN_IN_BACKGROUND", 1)
    engine = Waiting()
    result = generate(docs, tmp_path / "run", engine, encoder_after(engine.called), workers=workers)
    assert result.ending == "complete"
    assert contents(tmp_path / "run") == expected


def test_failing_model_ends_the_preparation_and_the_run_can_be_continued(
    docs: Path, expected: list[bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(assembly, "MIN_IN_BACKGROUND", 1)
    engine = Waiting()
    for calls in (2, 7):
        stopping = StoppingEngine(calls)
        with pytest.raises(EngineError, match="stopped"):
            generate(docs, tmp_path / "run", stopping)
    assert threading.active_count() < 20
    assert generate(docs, tmp_path / "run", engine).ending == "complete"
    assert contents(tmp_path / "run") == expected


def test_failing_preparation_ends_the_run_with_its_error(
    docs: Path, expected: list[bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(assembly, "MIN_IN_BACKGROUND", 1)

    class Failing(scripted_run.Encoder):
        def encode_corpus(self, texts: Sequence[str], *, on_done: Any = None) -> np.ndarray:
            raise MemoryError("no room")

    with pytest.raises(MemoryError, match="no room"):
        generate(docs, tmp_path / "run", ScriptedEngine(), Failing)
    assert "preparation" not in [thread.name for thread in threading.enumerate()]
    assert generate(docs, tmp_path / "run", ScriptedEngine()).ending == "complete"
    assert contents(tmp_path / "run") == expected


@pytest.mark.skipif(sys.platform != "linux", reason="threads have no priority of their own")
def test_preparation_beside_a_local_model_has_a_lower_priority_after_the_first_slice() -> None:
    found: list[int] = []

    def slices(check: Callable[[], None]) -> Iterator[list[Context]]:
        for _ in range(3):
            found.append(os.getpriority(os.PRIO_PROCESS, threading.get_native_id()))
            yield []

    index: Any = object()
    prepared = Preparation(0, slices, lambda: index, lambda: None, lambda: None)
    prepared.start(yielding=True)
    assert prepared.chunk_index is index
    usual, *later = found
    assert later == [max(usual, 10)] * 2
