"""Ragas: `testset.jsonl` for its present versions, `testset-0.1.jsonl` for what was built on 0.1.

The first has the columns of ``SingleTurnSample`` and the ``synthesizer_name`` of a ``Testset``, read off the source of
Ragas 0.4.3 (``ragas/dataset_schema.py``, ``ragas/testset/synthesizers/testset_schema.py``), the second those of
``DataRow`` and ``episode_done``, of 0.1.21 (``ragas/testset/evolutions.py``, ``ragas/testset/generator.py``).

Ragas 0.1 calls the evolutions as groundset does. Later versions only know whether a question needs one passage or
several. Neither knows of alternatives: the passages are those that the question was made from.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from groundset.sets.exports.base import Export, write_lines
from programs.types import Sample

if TYPE_CHECKING:
    from groundset.run import Run

TESTSET_FILE = "testset.jsonl"
OLD_TESTSET_FILE = "testset-0.1.jsonl"
_ONE_PASSAGE, _SEVERAL = "single_hop_specific_query_synthesizer", "multi_hop_specific_query_synthesizer"


def write_ragas(run: "Run", folder: Path) -> None:
    """Write both files."""
    write_lines(folder / OLD_TESTSET_FILE, old_testset_rows(run.samples))
    write_lines(folder / TESTSET_FILE, testset_rows(run.samples))


def testset_rows(samples: Sequence[Sample]) -> Iterator[dict[str, Any]]:
    """Yield the rows that ``EvaluationDataset.from_jsonl`` and ``Testset.from_jsonl`` read."""
    for sample in samples:
        yield {
            "user_input": sample.question,
            "reference": sample.answer,
            "reference_contexts": [chunk.text for chunk in sample.contexts],
            "reference_context_ids": [chunk.chunk_id for chunk in sample.contexts],
            "synthesizer_name": _SEVERAL if len(sample.retrieval_gt) > 1 else _ONE_PASSAGE,
        }


def old_testset_rows(samples: Sequence[Sample]) -> Iterator[dict[str, Any]]:
    """Yield the rows that ``TestDataset.to_dataset`` of Ragas 0.1 made; ``filename`` is where it kept a file's name."""
    for sample in samples:
        yield {
            "question": sample.question,
            "contexts": [chunk.text for chunk in sample.contexts],
            "ground_truth": sample.answer,
            "evolution_type": sample.evolution,
            "metadata": [
                {"filename": chunk.path, "title": chunk.title, "document_id": chunk.doc_id, "chunk_id": chunk.chunk_id}
                for chunk in sample.contexts
            ],
            "episode_done": True,
        }


EXPORT = Export(
    "ragas",
    "testset.jsonl, and testset-0.1.jsonl for Ragas 0.1",
    write_ragas,
    (TESTSET_FILE, OLD_TESTSET_FILE),
    last=TESTSET_FILE,
    corpus=False,
)
