"""BEIR's folder: `corpus.jsonl`, `queries.jsonl` and `qrels/<split>.tsv`.

The format of BEIR's ``GenericDataLoader`` (Thakur et al., BEIR, 2021; package beir): ``_id``, ``title`` and ``text`` of
a chunk, ``_id`` and ``text`` of a question, and tab-separated judgements with a header. Answers are in ``metadata``,
which BEIR ignores. Every chunk of every group has the judgement 1; the groups are only in ``metadata.retrieval_gt``.
BEIR leaves questions without judgements out of its measures, so unanswerable ones have none; their split is in
``metadata``.
"""

import csv
from pathlib import Path
from typing import TYPE_CHECKING, Any

from groundset.files import write_rows
from groundset.sets.exports.base import Export, as_file_name, kind_of, other_answers, relevant_ids
from programs.types import Chunk, Sample

if TYPE_CHECKING:
    from groundset.run import Run

CORPUS_FILE = "corpus.jsonl"
QUERIES_FILE = "queries.jsonl"
QRELS_FOLDER = "qrels"
DEFAULT_SPLIT = "test"


def write_beir(run: "Run", folder: Path) -> None:
    """Write chunks, questions, and the judgements of each split; the default split is ``test``."""
    write_rows(folder / CORPUS_FILE, map(_corpus_row, run.chunks))
    by_split: dict[str, list[Sample]] = {}
    for sample in run.samples:
        by_split.setdefault(as_file_name(sample.split or DEFAULT_SPLIT), []).append(sample)
    (folder / QRELS_FOLDER).mkdir()
    for split, samples in by_split.items():
        _write_judgements(folder / QRELS_FOLDER / f"{split}.tsv", samples)
    write_rows(folder / QUERIES_FILE, map(_query_row, run.samples))


def _corpus_row(chunk: Chunk) -> dict[str, Any]:
    metadata = {"doc_id": chunk.doc_id, "path": chunk.path, "start": chunk.start, "end": chunk.end}
    return {"_id": chunk.chunk_id, "title": chunk.title, "text": chunk.text, "metadata": metadata}


def _query_row(sample: Sample) -> dict[str, Any]:
    metadata: dict[str, Any] = {
        "answer": sample.answer,
        **({"answers": others} if (others := other_answers(sample)) else {}),
        "evolution": sample.evolution,
        "kind": kind_of(sample),
        "language": sample.language,
        "retrieval_gt": sample.retrieval_gt,
    }
    if not sample.answerable:
        chunk_ids = [chunk.chunk_id for chunk in sample.contexts]
        metadata |= {"answerable": False, "chunk_ids": chunk_ids, "split": sample.split}
    return {"_id": sample.id, "text": sample.question, "metadata": metadata}


def _write_judgements(file: Path, samples: list[Sample]) -> None:
    with file.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, delimiter="\t", lineterminator="\n")
        writer.writerow(("query-id", "corpus-id", "score"))
        for sample in samples:
            writer.writerows((sample.id, name, 1) for name in relevant_ids(sample))


EXPORT = Export(
    "beir",
    "corpus.jsonl, queries.jsonl and qrels",
    write_beir,
    (CORPUS_FILE, QUERIES_FILE, f"{QRELS_FOLDER}/*.tsv"),
    last=QUERIES_FILE,
)
