"""Preparation of a run: every chunk is analysed once, without a language model, in batches, and stored.

A killed process continues after its last batch. ``check`` is called after every batch and may raise.
"""

import os
import signal
import threading
import time
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from functools import cache
from typing import Any, Protocol

from groundset.engine.models import languages_with
from groundset.processors import usable_processors
from groundset.runtime.parser import load_parser
from groundset.store.run_store import RunStore
from programs.analysis import read_chunk
from programs.languages.table import Languages
from programs.stages.contexts import Contexts
from programs.types import Chunk, Context, Reject, StepRecord

# Embeddings depend in their last bits on the other texts of a batch, so a continued run cuts the same slices.
_SLICE = 256


class Embed(Protocol):
    """Embeds many texts; see :meth:`groundset.retrieval.embedder.Embedder.encode_corpus`."""

    def __call__(self, texts: Sequence[str], *, on_done: Callable[[int], None]) -> Any:
        """Return a row for each text; ``on_done`` receives the size of each finished batch."""
        ...


class Phases(Protocol):
    """Shows the progress of a phase."""

    def phase(self, doing: str, total: int) -> AbstractContextManager[Callable[[int], None]]:
        """Show a phase of ``total`` items; the yielded function advances it."""
        ...


def read_chunks(store: RunStore, parser: Any, phases: Phases, check: Callable[[], None]) -> None:
    """Analyse the language, syntax and possible questions of each chunk, on all cores."""
    chunks = store.chunks_missing("reading")
    if not chunks:
        return
    with phases.phase("Reading chunks", len(chunks)) as advance, closing(read_batches(chunks, parser)) as batches:
        for batch in batches:
            store.store_column("reading", ((context.chunk.chunk_id, _stored(context)) for context in batch))
            advance(len(batch))
            check()


def embed_chunks(store: RunStore, encode_corpus: Embed, phases: Phases, check: Callable[[], None]) -> None:
    """Embed the text of each chunk, on all cores."""
    missing = {chunk.chunk_id for chunk in store.chunks_missing("vector")}
    if not missing:
        return
    # Chunks of similar length share a batch, so that there is little padding.
    ordered = sorted(store.chunks(), key=lambda chunk: (-len(chunk.text), chunk.chunk_id))
    with phases.phase("Embedding chunks", len(missing)) as advance:
        for batch in _batches(ordered, _SLICE):
            ids = [chunk.chunk_id for chunk in batch]
            if missing.isdisjoint(ids):
                continue
            vectors = encode_corpus([chunk.text for chunk in batch], on_done=_calling(advance, check))
            store.store_column("vector", ((name, vector.tobytes()) for name, vector in zip(ids, vectors, strict=True)))


def _calling(advance: Callable[[int], None], check: Callable[[], None]) -> Callable[[int], None]:
    def on_done(count: int) -> None:
        advance(count)
        check()

    return on_done


def score_chunks(
    store: RunStore, stage: Contexts, phases: Phases, check: Callable[[], None], *, below: float | None = None
) -> None:
    """Score each chunk with a critic that needs no model call; refused chunks are rejects of the run.

    With ``below`` only scores of a lower probability are kept; the rest are left for the LLM critic.
    """
    missing = {chunk.chunk_id for chunk in store.chunks_missing("score")}
    if not missing:
        return
    with phases.phase("Scoring chunks", len(missing)) as advance:
        for batch in _batches(list(store.contexts().values()), _SLICE):
            if missing.isdisjoint(context.chunk.chunk_id for context in batch):
                continue
            stage.embed_ahead(batch)
            scores = []
            for context in batch:
                name, score = context.chunk.chunk_id, stage.score(context)
                is_kept = below is None or (score.probability is not None and score.probability < below)
                if is_kept and name in missing:
                    scores.append((name, score))
                advance(1)
                check()
            rejects = [_reject(name, record) for name, record in scores if record.reason is not None]
            store.store_column("score", ((name, record.model_dump_json()) for name, record in scores), rejects)


def _reject(chunk_id: str, record: StepRecord) -> Reject:
    return Reject(step=record.step, reason=str(record.reason), chunk_id=chunk_id, probability=record.probability)


def _stored(context: Context) -> str:
    return context.model_dump_json(exclude={"chunk", "score", "split"})


def _batches(items: Sequence[Any], size: int) -> Iterable[Sequence[Any]]:
    return (items[start : start + size] for start in range(0, len(items), size))


_BATCH = 32
_MIN_CHUNKS = 8 * _BATCH  # with fewer, starting processes takes longer than reading
_MIN_CHUNKS_EACH = 3 * _BATCH
_IDLE_SECONDS = 10  # after which a process ends and frees its memory


def read_batches(chunks: Sequence[Chunk], parser: Any) -> Generator[list[Context]]:
    """Yield analysed chunks in order; the result does not depend on the number of processes.

    Close the generator to end the processes early.
    """
    batches = [chunks[start : start + _BATCH] for start in range(0, len(chunks), _BATCH)]
    processes = min(usable_processors(), len(chunks) // _MIN_CHUNKS_EACH)
    if len(chunks) < _MIN_CHUNKS or processes == 1:
        languages = languages_with(parser)
        yield from ([read_chunk(chunk, languages) for chunk in batch] for batch in batches)
        return
    from joblib import Parallel, delayed

    with _interrupts_ignored(), _tracker_silenced():
        found = Parallel(n_jobs=processes, return_as="generator", idle_worker_timeout=_IDLE_SECONDS)(
            delayed(_read)(batch, parser.name, os.getpid()) for batch in batches
        )
    try:
        for contexts in found:  # noqa: UP028 - delegating would close it before warnings are silenced
            yield contexts
    finally:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about cancelled batches
            found.close()


@contextmanager
def _interrupts_ignored() -> Iterator[None]:
    """Ignore interrupts in the block; processes started in it keep ignoring them.

    A terminal sends Ctrl-C to every process; the parent ends its children itself.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread may set signal handlers
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def _tracker_silenced() -> Iterator[None]:
    """Silence the warnings of joblib's resource tracker, a process that is started in the block."""
    name = "PYTHONWARNINGS"
    before = os.environ.get(name)
    os.environ[name] = ",".join(filter(None, (before, "ignore:resource_tracker")))
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before


def _read(batch: Sequence[Chunk], parser: str, parent: int) -> list[Context]:
    """Analyse chunks in a child process."""
    _end_with(parent)
    return [read_chunk(chunk, _languages(parser)) for chunk in batch]


@cache
def _languages(parser: str) -> Languages:
    return languages_with(load_parser(parser))


@cache
def _end_with(parent: int) -> None:
    """End this process soon after its parent; otherwise it would wait for a killed parent."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
