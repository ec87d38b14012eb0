"""Preparation of a run: every chunk is analysed, embedded and scored once, without a language model, and stored.

Chunks are prepared in slices, in the order in which they are drawn, so that attempts on the first ones can begin before
the last ones are ready. The first slices are small. A killed process continues after its last slice.
"""

import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from groundset.engine.models import languages_with
from groundset.executors import Executor
from groundset.store.run_store import RunStore
from programs.analysis import read_chunk
from programs.critics.remembering import CachingEncoder, Vectors
from programs.languages.table import Languages
from programs.stages.contexts import Contexts
from programs.types import Chunk, Context, Reject, StepRecord

# Embeddings depend in their last bits on the other texts of a batch, so a continued run cuts the same slices.
_FIRST_SLICE, _SLICE = 32, 256
_MIN_CHUNKS, _MIN_CHUNKS_EACH = 256, 96  # with fewer, starting processes takes longer than reading
_TEXTS_AT_ONCE = 64  # a multiple of the embedder's batch; attempts embed in between
_PAUSE_SECONDS = 0.001  # lets them: a lock is not fair


class Phases(Protocol):
    """Shows the progress of a phase."""

    def phase(self, doing: str, total: int) -> AbstractContextManager[Callable[[int], None]]:
        """Show a phase of ``total`` items; the yielded function advances it."""
        ...


@dataclass(frozen=True)
class Scoring:
    """How chunks are scored, without a model call; can be sent to another process.

    Attributes:
        open: returns the stage that scores, with an encoder and languages.
        below: only scores of a lower probability are kept; the rest are left for the LLM critic. None keeps all.
    """

    open: Callable[[CachingEncoder, Languages], Contexts]
    below: float | None = None

    def score(self, stage: Contexts, contexts: Sequence[Context]) -> list[Context]:
        """Return the contexts with those of their scores that are kept."""
        stage.embed_ahead(contexts)
        scores = [stage.score(context) for context in contexts]
        return [
            context.model_copy(update={"score": score}) if self._is_kept(score) else context
            for context, score in zip(contexts, scores, strict=True)
        ]

    def _is_kept(self, score: StepRecord) -> bool:
        return self.below is None or (score.probability is not None and score.probability < self.below)


@dataclass(frozen=True)
class ChunkWork:
    """What is done with every chunk; can be sent to another process.

    Attributes:
        parser: reads its syntax.
        embedder: embeds it.
        scoring: scores it; None leaves that to attempts.
    """

    parser: Any
    embedder: Any
    scoring: Scoring | None


class PreparedSlice(NamedTuple):
    """Analysed and scored chunks, and the vectors of their texts and passages by text."""

    contexts: list[Context]
    vectors: dict[str, Vectors]


@dataclass(frozen=True)
class _ReadChunks:
    """An operator that analyses the chunks of a slice."""

    parser: Any

    @contextmanager
    def load(self) -> Iterator[Callable[[Sequence[Chunk]], list[Context]]]:
        """Yield a function that analyses a slice."""
        languages = languages_with(self.parser)
        yield lambda chunks: [read_chunk(chunk, languages) for chunk in chunks]

    def name(self, item: Sequence[Chunk]) -> str:
        """Return the ids of the first and the last chunk."""
        return f"reading chunks {item[0].chunk_id} to {item[-1].chunk_id}"


@dataclass(frozen=True)
class _PrepareChunks:
    """An operator that does all the work on the chunks of a slice."""

    work: ChunkWork

    @contextmanager
    def load(self) -> Iterator[Callable[[Sequence[Chunk]], PreparedSlice]]:
        """Yield a function that prepares a slice."""
        languages = languages_with(self.work.parser)
        finisher = _Finisher(self.work, CachingEncoder(self.work.embedder), languages)
        yield lambda chunks: finisher([read_chunk(chunk, languages) for chunk in chunks])

    def name(self, item: Sequence[Chunk]) -> str:
        """Return the ids of the first and the last chunk."""
        return f"preparing chunks {item[0].chunk_id} to {item[-1].chunk_id}"


class _Finisher:
    """Embeds and scores analysed chunks."""

    def __init__(self, work: ChunkWork, encoder: CachingEncoder, languages: Languages) -> None:
        self._work, self._encoder = work, encoder
        self._stage = work.scoring and work.scoring.open(encoder, languages)

    def __call__(self, contexts: list[Context], on_done: Callable[[int], None] | None = None) -> PreparedSlice:
        """Return a finished slice; ``on_done`` receives numbers of chunks."""
        texts = [context.chunk.text for context in contexts]
        if self._stage:
            texts += [context.passage for context in contexts if context.passage]
        vectors = self._embed(texts, len(contexts), on_done)
        self._encoder.remember(vectors)
        if self._work.scoring and self._stage:
            contexts = self._work.scoring.score(self._stage, contexts)
        return PreparedSlice(contexts, vectors)

    def _embed(self, texts: Sequence[str], chunks: int, on_done: Callable[[int], None] | None) -> dict[str, Vectors]:
        """Return the vectors of texts; texts of similar length share a batch, so that there is little padding."""
        vectors: dict[str, Vectors] = {}
        ordered = sorted(set(texts), key=lambda text: (-len(text), text))
        reported = 0
        for start in range(0, len(ordered), _TEXTS_AT_ONCE):
            part = ordered[start : start + _TEXTS_AT_ONCE]
            vectors.update(zip(part, self._work.embedder.encode_corpus(part), strict=True))
            if on_done:
                done = chunks * len(vectors) // len(ordered)
                on_done(done - reported)
                reported = done
                time.sleep(_PAUSE_SECONDS)
        return vectors


def prepare_slices(
    store: RunStore,
    order: Sequence[Chunk],
    missing: set[str],
    work: ChunkWork,
    encoder: CachingEncoder,
    languages: Languages,
    executor: Executor,
    advance: Callable[[int], None],
    check: Callable[[], None],
) -> Iterator[list[Context]]:
    """Yield every chunk analysed and scored, in slices; what the store lacks is prepared and stored.

    On this machine, processes read syntax, and this process embeds and scores, because its threads share the weights.
    Elsewhere the executor does it all. The result does not depend on it.

    Args:
        store: the run.
        order: its chunks, in the order in which they are drawn.
        missing: the ids of those that :func:`unprepared` returns.
        work: what to do with them.
        encoder: keeps the vectors for attempts.
        languages: the known languages.
        executor: where to do it.
        advance: receives numbers of prepared chunks.
        check: called after every batch; may raise.
    """
    slices = slices_of(order)
    unscored = {chunk.chunk_id for chunk in store.chunks_missing("score")}
    ready = store.contexts() if len(missing) < len(order) else {}
    left = [part for part in slices if _is_missing(part, missing)]
    with closing(_prepared(left, work, encoder, languages, executor, advance, check)) as prepared:
        for part in slices:
            if _is_missing(part, missing):
                found = next(prepared)
                _store(store, found, unscored)
                encoder.keep({context.chunk.text: found.vectors[context.chunk.text] for context in found.contexts})
                yield found.contexts
            else:
                yield [ready[chunk.chunk_id] for chunk in part]


def unprepared(store: RunStore) -> set[str]:
    """Return the ids of chunks that are not fully prepared."""
    return {chunk.chunk_id for chunk in (*store.chunks_missing("vector"), *store.chunks_missing("reading"))}


def slices_of(order: Sequence[Chunk]) -> list[Sequence[Chunk]]:
    """Cut chunks into slices, small ones first."""
    slices, start, size = [], 0, _FIRST_SLICE
    while start < len(order):
        slices.append(order[start : start + size])
        start, size = start + size, min(2 * size, _SLICE)
    return slices


def _is_missing(part: Sequence[Chunk], missing: set[str]) -> bool:
    return any(chunk.chunk_id in missing for chunk in part)


def _prepared(
    slices: Sequence[Sequence[Chunk]],
    work: ChunkWork,
    encoder: CachingEncoder,
    languages: Languages,
    executor: Executor,
    advance: Callable[[int], None],
    check: Callable[[], None],
) -> Generator[PreparedSlice]:
    def on_done(count: int) -> None:
        advance(count)
        check()

    if not executor.is_local:
        with closing(executor.map(_PrepareChunks(work), slices, parts=len(slices), check=check)) as prepared:
            for found in prepared:
                encoder.remember(found.vectors)
                on_done(len(found.contexts))
                yield found
        return
    finish, count = _Finisher(work, encoder, languages), sum(map(len, slices))
    parts = count / _MIN_CHUNKS_EACH if count >= _MIN_CHUNKS else 1
    with closing(executor.map(_ReadChunks(work.parser), slices, parts=parts, check=check)) as read:
        for contexts in read:
            check()
            yield finish(contexts, on_done)


def _store(store: RunStore, found: PreparedSlice, unscored: set[str]) -> None:
    """Store a slice; the vectors come last, because they mark it as prepared."""
    contexts = found.contexts
    store.store_column("reading", [(context.chunk.chunk_id, _reading(context)) for context in contexts])
    scores = [
        (context.chunk.chunk_id, context.score)
        for context in contexts
        if context.score is not None and context.chunk.chunk_id in unscored
    ]
    rejects = [_reject(name, score) for name, score in scores if score.reason is not None]
    if scores:
        store.store_column("score", [(name, score.model_dump_json()) for name, score in scores], rejects)
    rows = [(context.chunk.chunk_id, found.vectors[context.chunk.text].tobytes()) for context in contexts]
    store.store_column("vector", rows)


def _reject(chunk_id: str, record: StepRecord) -> Reject:
    return Reject(step=record.step, reason=str(record.reason), chunk_id=chunk_id, probability=record.probability)


def _reading(context: Context) -> str:
    return context.model_dump_json(exclude={"chunk", "score", "split"})
