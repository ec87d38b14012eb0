"""Preparation of chunks: embedding, reading and scoring in stored slices, with progress and interruption."""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scripted_run

from groundset.engine import preparation
from groundset.engine.config import make_config
from groundset.engine.generation import run_generation
from groundset.engine.models import Openers
from groundset.engine.preparation import embed_chunks, read_chunks, score_chunks
from groundset.executors import local
from groundset.runtime.parser import load_parser
from groundset.store.run_store import RunStore
from programs.types import Chunk, Context, StepRecord

TEXTS = [
    "The Henn Lady carries {0} cars and was built at the Lodrin yard in 2004. It crosses the sound {0} times a day.",
    "On 22 February 2009 the Henn Lady (built in 2004) struck the Grey Widow, an unlit rock south of Sandgate.",
    "Die Brücke über die Lahn wurde 1931 gebaut. Seit 19{0} fahren dort Züge.",
]


class Shown:
    """Records the total and counts of each phase."""

    def __init__(self) -> None:
        self.phases: dict[str, tuple[int, list[int]]] = {}

    @contextmanager
    def phase(self, doing: str, total: int) -> Iterator[Callable[[int], None]]:
        _, counts = self.phases[doing] = (total, [])
        yield counts.append


class Encoder:
    """Makes each vector depend on the whole batch of texts; is interrupted after ``batches`` batches."""

    def __init__(self, batches: int = 10**6) -> None:
        self._left = batches

    def encode_corpus(self, texts: Sequence[str], *, on_done: Callable[[int], None]) -> np.ndarray:
        beside = "\0".join(texts)
        for done in range(0, len(texts), 2):
            if not self._left:
                raise KeyboardInterrupt
            self._left -= 1
            on_done(len(texts[done : done + 2]))
        noise = [hashlib.sha256(f"{text}{beside}".encode()).digest() for text in texts]
        return np.array([np.frombuffer(row, dtype=np.uint8) for row in noise], dtype=np.float32)


class Stage:
    """Refuses every third chunk."""

    def __init__(self) -> None:
        self.ahead: list[int] = []
        self.scored: list[str] = []

    def embed_ahead(self, contexts: Sequence[Context]) -> None:
        self.ahead.append(len(contexts))

    def score(self, context: Context) -> StepRecord:
        self.scored.append(context.chunk.chunk_id)
        bad = context.chunk.start % 3 == 0
        fields: dict[str, Any] = {"verdict": "bad", "reason": "not content"} if bad else {"verdict": "good"}
        return StepRecord(step="chunk", probability=0.05 if bad else 0.6, **fields)


def never() -> None:
    """Do not stop."""


def store_of(folder: Path, count: int = 40) -> RunStore:
    chunks = [
        Chunk(
            chunk_id=f"d-{n}", doc_id="d", path="d.md", title="Henn Lady", start=n, end=n + 1, text=text.format(30 + n)
        )
        for n in range(count)
        for text in [TEXTS[n % len(TEXTS)]]
    ]
    return RunStore.create(folder, meta={}, documents=[], chunks=chunks)


def test_vectors_are_independent_of_interruptions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preparation, "_SLICE", 16)
    with store_of(tmp_path / "whole") as store:
        embed_chunks(store, Encoder().encode_corpus, Shown(), never)
        whole = store.vectors()
    with store_of(tmp_path / "killed") as store:
        for batches in (9, 3):  # the first slice is stored, no later one
            with pytest.raises(KeyboardInterrupt):
                embed_chunks(store, Encoder(batches).encode_corpus, Shown(), never)
            assert len(store.chunks_missing("vector")) == 24
    with RunStore.open(tmp_path / "killed") as store:
        embed_chunks(store, Encoder().encode_corpus, Shown(), never)
        assert np.array_equal(store.vectors(), whole)


def test_progress_counts_remaining_chunks_and_stops_on_request(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preparation, "_SLICE", 16)

    def stop_after(count: int) -> Callable[[], None]:
        left = iter(range(count))

        def check() -> None:
            if next(left, None) is None:
                raise InterruptedError

        return check

    with store_of(tmp_path / "run") as store:
        shown = Shown()
        with pytest.raises(InterruptedError):
            embed_chunks(store, Encoder().encode_corpus, shown, stop_after(11))
        assert shown.phases["Embedding chunks"] == (40, [2] * 12)
        embed_chunks(store, Encoder().encode_corpus, shown, never)
        assert shown.phases["Embedding chunks"] == (24, [2] * 12)
        read_chunks(store, load_parser("none"), shown, never)
        assert shown.phases["Reading chunks"] == (40, [32, 8])
        with pytest.raises(InterruptedError):
            score_chunks(store, Stage(), shown, stop_after(20))  # type: ignore[arg-type]
        score_chunks(store, Stage(), shown, never)  # type: ignore[arg-type]
        assert shown.phases["Scoring chunks"] == (24, [1] * 24)
        again = Shown()
        embed_chunks(store, Encoder(0).encode_corpus, again, never)
        read_chunks(store, load_parser("none"), again, never)
        score_chunks(store, Stage(), again, never)  # type: ignore[arg-type]
        assert again.phases == {}


def test_chunks_are_scored_and_refused_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preparation, "_SLICE", 16)
    stage = Stage()
    with store_of(tmp_path / "run") as store:
        read_chunks(store, load_parser("none"), Shown(), never)
        score_chunks(store, stage, Shown(), never)  # type: ignore[arg-type]
        assert stage.ahead == [16, 16, 8]
        assert stage.scored == [chunk.chunk_id for chunk in store.chunks()]
        refused = [reject.chunk_id for reject in store.results.rejects()]
        assert refused == [f"d-{n}" for n in range(0, 40, 3)]


def test_only_scores_below_the_limit_are_stored(tmp_path: Path) -> None:
    stage = Stage()
    with store_of(tmp_path / "run") as store:
        read_chunks(store, load_parser("none"), Shown(), never)
        score_chunks(store, stage, Shown(), never, below=0.1)  # type: ignore[arg-type]
        scored = [name for name, context in store.contexts().items() if context.score is not None]
        assert scored == [reject.chunk_id for reject in store.results.rejects()] == [f"d-{n}" for n in range(0, 40, 3)]
        score_chunks(store, stage, Shown(), never, below=0.1)  # type: ignore[arg-type]
        assert len(list(store.results.rejects())) == len(scored)


def test_parallel_reading_matches_serial_reading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def readings(folder: str, processors: int) -> dict[str, Context]:
        def stop() -> None:
            if len(store.chunks_missing("reading")) < 100:
                raise InterruptedError

        monkeypatch.setattr(local, "usable_processors", lambda: processors)
        with store_of(tmp_path / folder, 100) as store:
            with pytest.raises(InterruptedError):
                read_chunks(store, load_parser("en-core-web-sm"), Shown(), stop)
            assert len(store.chunks_missing("reading")) == 68
            read_chunks(store, load_parser("en-core-web-sm"), Shown(), never)
            return store.contexts()

    alone = readings("alone", 1)
    assert any(context.parsed and context.evolvable["conditional"] is not None for context in alone.values())
    assert {context.language for context in alone.values()} == {"de", "en"}
    for name in ("_MIN_CHUNKS", "_MIN_CHUNKS_EACH"):
        monkeypatch.setattr(preparation, name, 4)
    assert readings("processes", 2) == alone


def test_passage_equal_to_its_chunk_is_embedded_once(tmp_path: Path) -> None:
    """Critics reuse the vectors of the index."""
    embedded: list[str] = []

    class Counting(scripted_run.Encoder):
        def encode(self, texts: Sequence[str]) -> np.ndarray:
            embedded.extend(texts)
            return super().encode(texts)

    docs = scripted_run.write_documents(tmp_path / "docs")
    (docs / "marked.md").write_text(f"# Marked\n\n{'The **Henn Lady** carries 36 cars. ' * 5}\n")
    config = make_config({"documents": (docs,), "size": 2, "chunk_size": 300, "min_length": 50, "compiled": "none"})
    openers: Any = Openers(scripted_run.lm_opener(scripted_run.ScriptedEngine()), Counting)
    run_generation(config, tmp_path / "run", openers=openers, recipe=scripted_run.scripted_recipe())
    with RunStore.read(tmp_path / "run") as store:
        texts = [chunk.text for chunk in store.chunks()]
        marked = {context.passage for context in store.contexts().values()} - set(texts)
    assert marked
    assert embedded[: len(texts)] == sorted(texts, key=lambda text: -len(text))
    assert len(embedded) == len(set(embedded))
