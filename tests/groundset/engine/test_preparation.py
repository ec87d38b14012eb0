"""Preparation of chunks: embedding, reading and scoring in stored slices, with progress and interruption."""

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scripted_run

from groundset.engine import preparation
from groundset.engine.config import make_config
from groundset.engine.generation import run_generation
from groundset.engine.models import Openers, languages_with
from groundset.engine.preparation import ChunkWork, Scoring, prepare_slices, unprepared
from groundset.executors import LOCAL, local
from groundset.runtime.parser import load_parser
from groundset.store.run_store import RunStore
from programs.critics.remembering import CachingEncoder
from programs.types import Chunk, Context, StepRecord

TEXTS = [
    "The Henn Lady carries {0} cars and was built at the Lodrin yard in 2004. It crosses the sound {0} times a day.",
    "On 22 February 2009 the Henn Lady (built in 2004) struck the Grey Widow, an unlit rock south of Sandgate.",
    "Die Brücke über die Lahn wurde 1931 gebaut. Seit 19{0} fahren dort Züge.",
]


class Encoder:
    """Makes each vector depend on the whole batch of texts; is interrupted after ``batches`` batches."""

    def __init__(self, batches: int = 10**6) -> None:
        self._left = batches

    def encode_corpus(self, texts: Sequence[str]) -> np.ndarray:
        if not self._left:
            raise KeyboardInterrupt
        self._left -= 1
        beside = "\0".join(texts)
        noise = [hashlib.sha256(f"{text}{beside}".encode()).digest() for text in texts]
        return np.array([np.frombuffer(row, dtype=np.uint8) for row in noise], dtype=np.float32)

    encode = encode_corpus


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


def prepare(
    store: RunStore,
    *,
    batches: int = 10**6,
    stage: Any = None,
    below: float | None = None,
    parser: str = "none",
    check: Callable[[], None] = never,
    reported: list[int] | None = None,
) -> list[list[Context]]:
    """Prepare the chunks of a run in the order of the store."""
    scoring = stage and Scoring(lambda encoder, languages: stage, below)
    work = ChunkWork(load_parser(parser), Encoder(batches), scoring)
    advance = (reported if reported is not None else []).append
    encoder, languages = CachingEncoder(work.embedder), languages_with(work.parser)
    return list(
        prepare_slices(store, store.chunks(), unprepared(store), work, encoder, languages, LOCAL, advance, check)
    )


@pytest.fixture(autouse=True)
def _small_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preparation, "_FIRST_SLICE", 8)
    monkeypatch.setattr(preparation, "_SLICE", 16)
    monkeypatch.setattr(preparation, "_TEXTS_AT_ONCE", 4)


def test_result_is_independent_of_interruptions(tmp_path: Path) -> None:
    with store_of(tmp_path / "whole") as store:
        slices = prepare(store, stage=Stage())
        assert [len(part) for part in slices] == [8, 16, 16]
        whole = store.vectors()
        contexts, rejects = store.contexts(), list(store.results.rejects())
        assert {context.chunk.chunk_id: context for part in slices for context in part} == contexts
    reported: list[int] = []
    with store_of(tmp_path / "killed") as store:
        for batches in (3, 2):  # the first slice of two batches is stored, no later one
            with pytest.raises(KeyboardInterrupt):
                prepare(store, batches=batches, stage=Stage(), reported=reported)
            assert len(store.chunks_missing("vector")) == 32
    assert reported == [5, 3, 5, 5, 5]
    with RunStore.open(tmp_path / "killed") as store:
        prepare(store, stage=Stage())
        assert np.array_equal(store.vectors(), whole)
        assert (store.contexts(), list(store.results.rejects())) == (contexts, rejects)
        assert prepare(store, batches=0, stage=Stage()) == slices


def test_chunks_are_scored_and_refused_once(tmp_path: Path) -> None:
    stage, checks = Stage(), iter(range(5))

    def check() -> None:
        if next(checks, None) is None:
            raise InterruptedError

    with store_of(tmp_path / "run") as store:
        with pytest.raises(InterruptedError):
            prepare(store, stage=stage, check=check)
        prepare(store, stage=stage)
        assert stage.ahead == [8, 16, 16]
        assert stage.scored == [chunk.chunk_id for chunk in store.chunks()]
        refused = [reject.chunk_id for reject in store.results.rejects()]
        assert refused == [f"d-{n}" for n in range(0, 40, 3)]


def test_slice_that_was_stored_in_part_is_refused_once(tmp_path: Path) -> None:
    with store_of(tmp_path / "run") as store:
        prepare(store, stage=Stage())
        store.store_column("vector", [("d-0", None)])  # type: ignore[list-item]
        prepare(store, stage=Stage())
        assert len(list(store.results.rejects())) == 14


def test_only_scores_below_the_limit_are_stored(tmp_path: Path) -> None:
    with store_of(tmp_path / "run") as store:
        prepare(store, stage=Stage(), below=0.1)
        scored = [name for name, context in store.contexts().items() if context.score is not None]
        assert scored == [reject.chunk_id for reject in store.results.rejects()] == [f"d-{n}" for n in range(0, 40, 3)]


def test_parallel_reading_matches_serial_reading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def readings(folder: str, processors: int) -> dict[str, Context]:
        monkeypatch.setattr(local, "usable_processors", lambda: processors)
        with store_of(tmp_path / folder) as store:
            prepare(store, parser="en-core-web-sm")
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
    assert set(texts) <= set(embedded)
    assert len(embedded) == len(set(embedded))
