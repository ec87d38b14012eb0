"""Preparation of a run: every chunk is analysed once, without a language model, in batches, and stored.

A killed process continues after its last batch. ``check`` is called after every batch and may raise.
"""

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

from groundset.engine.models import languages_with
from groundset.executors import LOCAL, Executor
from groundset.store.run_store import RunStore
from programs.analysis import read_chunk
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


def read_chunks(
    store: RunStore, parser: Any, phases: Phases, check: Callable[[], None], executor: Executor = LOCAL
) -> None:
    """Analyse the language, syntax and possible questions of each chunk, on all cores."""
    chunks = store.chunks_missing("reading")
    if not chunks:
        return
    batches = read_batches(chunks, parser, executor, check)
    with phases.phase("Reading chunks", len(chunks)) as advance, closing(batches):
        for batch in batches:
            store.store_column("reading", ((context.chunk.chunk_id, _stored(context)) for context in batch))
            advance(len(batch))
            check()


@dataclass(frozen=True)
class _EmbedChunks:
    """An operator that embeds slices of chunks."""

    encode_corpus: Embed

    @contextmanager
    def load(self) -> Iterator[Callable[[Sequence[Chunk]], Any]]:
        """Yield a function that embeds a slice."""
        yield lambda chunks: self.encode_corpus([chunk.text for chunk in chunks], on_done=lambda _: None)

    def name(self, item: Sequence[Chunk]) -> str:
        """Return the ids of the first and the last chunk."""
        return f"embedding chunks {item[0].chunk_id} to {item[-1].chunk_id}"


def embed_chunks(
    store: RunStore, encode_corpus: Embed, phases: Phases, check: Callable[[], None], executor: Executor = LOCAL
) -> None:
    """Embed the text of each chunk, on all cores; on this machine by threads, which share the weights."""
    missing = {chunk.chunk_id for chunk in store.chunks_missing("vector")}
    if not missing:
        return
    # Chunks of similar length share a batch, so that there is little padding.
    ordered = sorted(store.chunks(), key=lambda chunk: (-len(chunk.text), chunk.chunk_id))
    slices = [batch for batch in _batches(ordered, _SLICE) if not missing.isdisjoint(chunk.chunk_id for chunk in batch)]
    with phases.phase("Embedding chunks", len(missing)) as advance, ExitStack() as stack:
        on_done = _calling(advance, check)
        embedded: Iterable[Any]
        if executor.is_local:
            embedded = (encode_corpus([chunk.text for chunk in batch], on_done=on_done) for batch in slices)
        else:
            operator = _EmbedChunks(encode_corpus)
            embedded = stack.enter_context(closing(executor.map(operator, slices, parts=len(slices), check=check)))
        for batch, vectors in zip(slices, embedded, strict=True):
            ids = [chunk.chunk_id for chunk in batch]
            store.store_column("vector", ((name, vector.tobytes()) for name, vector in zip(ids, vectors, strict=True)))
            if not executor.is_local:
                on_done(len(batch))


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


@dataclass(frozen=True)
class _ReadChunks:
    """An operator that analyses chunks."""

    parser: Any

    @contextmanager
    def load(self) -> Iterator[Callable[[Sequence[Chunk]], list[Context]]]:
        """Yield a function that analyses a batch."""
        languages = languages_with(self.parser)
        yield lambda batch: [read_chunk(chunk, languages) for chunk in batch]

    def name(self, item: Sequence[Chunk]) -> str:
        """Return the ids of the first and the last chunk."""
        return f"reading chunks {item[0].chunk_id} to {item[-1].chunk_id}"


def read_batches(
    chunks: Sequence[Chunk], parser: Any, executor: Executor = LOCAL, check: Callable[[], None] | None = None
) -> Generator[list[Context]]:
    """Yield analysed chunks in order; the result does not depend on the executor or the number of processes.

    Close the generator to end the processes early.
    """
    parts = len(chunks) / _MIN_CHUNKS_EACH if len(chunks) >= _MIN_CHUNKS else 1
    return executor.map(_ReadChunks(parser), _batches(chunks, _BATCH), parts=parts, check=check)
