"""Runs that were not generated: their chunks are embedded, and their questions are ranked."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from groundset.printing import Progress
from groundset.programs.types import Chunk, Sample
from groundset.retrieval.embed import Embedder
from groundset.retrieval.index import Index
from groundset.run.run import Run, save_run


def save_ranked(
    out: Path,
    embedder: Embedder,
    progress: Progress,
    *,
    samples: Sequence[Sample],
    chunks: Sequence[Chunk],
    record: Mapping[str, Any],
    **more: Any,
) -> Run:
    """Embed the chunks and rank the questions of a new run, and write it; see :func:`save_run`."""
    progress.phase("Embedding chunks", len(chunks))
    vectors = embedder.encode([chunk.text for chunk in chunks], on_done=progress.advance)
    progress.phase("Ranking questions")
    index = Index(vectors, chunks, embedder)
    ranked = [
        each.model_copy(update={"retrieval": index.rank(each.question, each.retrieval_gt)})
        for each in samples
    ]
    used = {"name": embedder.name, "sha256": embedder.sha256}
    configuration = {"recipe": None, **record.get("configuration", {}), "embedder": embedder.name}
    return save_run(
        out,
        samples=ranked,
        chunks=chunks,
        vectors=vectors,
        asked=embedder.encode([sample.question for sample in samples]),
        record={**record, "configuration": configuration, "models": {"embedder": used}},
        **more,
    )
