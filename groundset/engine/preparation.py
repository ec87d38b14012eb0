"""Preparation of a run: every chunk is analysed once, without a language model, in batches, and stored.

A process that is killed here goes on where it was. ``check`` is called after every batch and may raise to end it.
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

# What is embedded is committed in slices. They are cut the same whatever an earlier process got done, because how a
# text is rounded depends on those beside it: a run that goes on has the bits of one that was never ended.
_SLICE = 256


class Embed(Protocol):
    """Embeds many texts; see :meth:`groundset.retrieval.embedder.Embedder.encode_corpus`."""

    def __call__(self, texts: Sequence[str], *, on_done: Callable[[int], None]) -> Any:
        """Return a row for each text; call ``on_done`` after each batch with how many more are done."""
        ...


class Phases(Protocol):
    """Shows the progress of a phase."""

    def phase(self, doing: str, total: int) -> AbstractContextManager[Callable[[int], None]]:
        """Show a phase of ``total`` items; call the yielded function with how many more are done."""
        ...


def read_chunks(store: RunStore, parser: Any, phases: Phases, check: Callable[[], None]) -> None:
    """Analyse what each chunk can be asked and which evolutions fit, on all cores."""
    chunks = store.without("reading")
    if not chunks:
        return
    with phases.phase("Reading chunks", len(chunks)) as advance, closing(read_batches(chunks, parser)) as batches:
        for batch in batches:
            store.learn("reading", ((context.chunk.chunk_id, _stored(context)) for context in batch))
            advance(len(batch))
            check()


def embed_chunks(store: RunStore, encode_corpus: Embed, phases: Phases, check: Callable[[], None]) -> None:
    """Embed the text of each chunk, on all cores."""
    missing = {chunk.chunk_id for chunk in store.without("vector")}
    if not missing:
        return
    # Chunks of a length go together, so that little of a batch is padding.
    ordered = sorted(store.chunks(), key=lambda chunk: (-len(chunk.text), chunk.chunk_id))
    with phases.phase("Embedding chunks", len(missing)) as advance:
        for batch in _batches(ordered, _SLICE):
            ids = [chunk.chunk_id for chunk in batch]
            if missing.isdisjoint(ids):
                continue
            vectors = encode_corpus([chunk.text for chunk in batch], on_done=_calling(advance, check))
            store.learn("vector", ((name, vector.tobytes()) for name, vector in zip(ids, vectors, strict=True)))


def _calling(advance: Callable[[int], None], check: Callable[[], None]) -> Callable[[int], None]:
    def on_done(count: int) -> None:
        advance(count)
        check()

    return on_done


def score_chunks(
    store: RunStore, stage: Contexts, phases: Phases, check: Callable[[], None], *, below: float | None = None
) -> None:
    """Score each chunk with a critic that needs no model call; refused chunks are rejects of the run.

    With ``below`` only scores of a lower probability are kept: whoever judges later judges the other chunks.
    """
    missing = {chunk.chunk_id for chunk in store.without("score")}
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
                surely = below is None or (score.probability is not None and score.probability < below)
                if surely and name in missing:
                    scores.append((name, score))
                advance(1)
                check()
            rejects = [_refused(name, record) for name, record in scores if record.reason is not None]
            store.learn("score", ((name, record.model_dump_json()) for name, record in scores), rejects)


def _refused(chunk_id: str, record: StepRecord) -> Reject:
    return Reject(step=record.step, reason=str(record.reason), chunk_id=chunk_id, probability=record.probability)


def _stored(context: Context) -> str:
    return context.model_dump_json(exclude={"chunk", "score", "split"})


def _batches(items: Sequence[Any], size: int) -> Iterable[Sequence[Any]]:
    return (items[start : start + size] for start in range(0, len(items), size))


_BATCH = 32
_FEWEST_FOR_PROCESSES = 8 * _BATCH  # for fewer it takes longer to start processes than to read
_FEWEST_FOR_EACH = 3 * _BATCH
_IDLE_SECONDS = 10  # after which a process ends and frees its memory


def read_batches(chunks: Sequence[Chunk], parser: Any) -> Generator[list[Context]]:
    """Yield analysed chunks in their order; the result does not depend on the number of processes.

    Close it to end the processes early.
    """
    batches = [chunks[start : start + _BATCH] for start in range(0, len(chunks), _BATCH)]
    processes = min(usable_processors(), len(chunks) // _FEWEST_FOR_EACH)
    if len(chunks) < _FEWEST_FOR_PROCESSES or processes == 1:
        languages = languages_with(parser)
        yield from ([read_chunk(chunk, languages) for chunk in batch] for batch in batches)
        return
    from joblib import Parallel, delayed

    with _interrupts_ignored(), _ends_unwarned():
        found = Parallel(n_jobs=processes, return_as="generator", idle_worker_timeout=_IDLE_SECONDS)(
            delayed(_read)(batch, parser.name, os.getpid()) for batch in batches
        )
    try:
        for contexts in found:  # noqa: UP028 - delegating would close it before warnings are silenced
            yield contexts
    finally:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of what was begun and is not wanted any more
            found.close()


@contextmanager
def _interrupts_ignored() -> Iterator[None]:
    """Ignore interrupts in the block; processes started in it ignore them for good.

    A terminal sends it to every process, and only the one that stores what was read may end the others.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread may say what becomes of a signal
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def _ends_unwarned() -> Iterator[None]:
    """Silence the warnings of joblib's clean-up process, which is started in the block."""
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
    """End this process soon after its parent; it would wait for ever for a killed parent."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
