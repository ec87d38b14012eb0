"""BEIR's folder: `corpus.jsonl`, `queries.jsonl` and `qrels/<split>.tsv`.

The format of BEIR's ``GenericDataLoader`` (Thakur et al., BEIR, 2021; package beir): ``_id``, ``title`` and ``text`` of
a chunk, ``_id`` and ``text`` of a question, and tab-separated judgements with a header. Answers are in ``metadata``,
which BEIR ignores. Every chunk of every group has the judgement 1; the groups are only in ``metadata.retrieval_gt``.
BEIR leaves questions without judgements out of its measures, so unanswerable ones have none.
"""

import csv
from pathlib import Path
from typing import Any

from groundset.files import write_rows
from groundset.out.sets import EvaluationSet, kind_of, other_answers, relevant_ids
from programs.types import Chunk, Sample

_SPLIT = "test"  # of questions without one


def write_beir(found: EvaluationSet, folder: Path) -> None:
    """Write chunks, questions, and the judgements of each split."""
    write_rows(folder / "corpus.jsonl", map(_corpus_row, found.chunks))
    by_split: dict[str, list[Sample]] = {}
    for sample in found.samples:
        by_split.setdefault(found.split_of(sample) or _SPLIT, []).append(sample)
    (folder / "qrels").mkdir()
    for split, samples in by_split.items():
        with (folder / "qrels" / f"{split}.tsv").open("w", encoding="utf-8", newline="") as stream:
            writer = csv.writer(stream, delimiter="\t", lineterminator="\n")
            writer.writerow(("query-id", "corpus-id", "score"))
            writer.writerows((sample.id, name, 1) for sample in samples for name in relevant_ids(sample))
    write_rows(folder / "queries.jsonl", (_query_row(sample, found.split_of(sample)) for sample in found.samples))


def _corpus_row(chunk: Chunk) -> dict[str, Any]:
    metadata = {"doc_id": chunk.doc_id, "path": chunk.path, "start": chunk.start, "end": chunk.end}
    return {"_id": chunk.chunk_id, "title": chunk.title, "text": chunk.text, "metadata": metadata}


def _query_row(sample: Sample, split: str | None) -> dict[str, Any]:
    metadata: dict[str, Any] = {
        "answer": sample.answer,
        **({"answers": others} if (others := other_answers(sample)) else {}),
        "evolution": sample.evolution,
        "kind": kind_of(sample),
        "language": sample.language,
        "retrieval_gt": sample.retrieval_gt,
    }
    if not sample.retrieval_gt:
        metadata |= {"answerable": False, "chunk_ids": [chunk.chunk_id for chunk in sample.contexts], "split": split}
    return {"_id": sample.id, "text": sample.question, "metadata": metadata}
