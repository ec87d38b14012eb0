"""Ragas: `testset.jsonl` for current versions, `testset-0.1.jsonl` for Ragas 0.1, `conversations.jsonl` if any.

The first has the columns of ``SingleTurnSample`` and the ``synthesizer_name`` of a ``Testset`` in Ragas 0.4.3
(``ragas/dataset_schema.py``, ``ragas/testset/synthesizers/testset_schema.py``), the second those of ``DataRow`` and
``episode_done`` in 0.1.21 (``ragas/testset/evolutions.py``, ``ragas/testset/generator.py``).

Ragas 0.1 uses the same names of evolutions. Later versions only distinguish single-hop and multi-hop questions. Neither
supports alternatives: the contexts are the chunks a question was made from. Ragas measures retrieval against them, so
unanswerable questions have none.

Conversations have the columns of ``MultiTurnSample``, of which an ``EvaluationDataset`` cannot hold both kinds.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from groundset.sets.exports.base import Export, write_lines
from programs.types import Chunk, Sample

if TYPE_CHECKING:
    from groundset.run import Run

TESTSET_FILE = "testset.jsonl"
OLD_TESTSET_FILE = "testset-0.1.jsonl"
CONVERSATIONS_FILE = "conversations.jsonl"
_TYPES = {"user": "human", "assistant": "ai"}
_SINGLE_HOP, _MULTI_HOP = "single_hop_specific_query_synthesizer", "multi_hop_specific_query_synthesizer"


def write_ragas(run: "Run", folder: Path) -> None:
    """Write the files."""
    if conversations := list(conversation_rows(run.samples)):
        write_lines(folder / CONVERSATIONS_FILE, conversations)
    write_lines(folder / OLD_TESTSET_FILE, old_testset_rows(run.samples))
    write_lines(folder / TESTSET_FILE, testset_rows(run.samples))


def testset_rows(samples: Sequence[Sample]) -> Iterator[dict[str, Any]]:
    """Yield rows for ``EvaluationDataset.from_jsonl`` and ``Testset.from_jsonl``."""
    for sample in samples:
        yield {
            "user_input": sample.question,
            "reference": sample.answer,
            "reference_contexts": [chunk.text for chunk in _reference(sample)],
            "reference_context_ids": [chunk.chunk_id for chunk in _reference(sample)],
            "synthesizer_name": _MULTI_HOP if len(sample.retrieval_gt) > 1 else _SINGLE_HOP,
        }


def conversation_rows(samples: Sequence[Sample]) -> Iterator[dict[str, Any]]:
    """Yield the conversations as rows for ``EvaluationDataset.from_jsonl``; the last message is the follow-up."""
    for sample in samples:
        if messages := sample.conversation:
            yield {
                "user_input": [
                    {"content": message["content"], "type": _TYPES.get(message["role"], message["role"])}
                    for message in messages
                ],
                "reference": sample.answer,
            }


def _reference(sample: Sample) -> Sequence[Chunk]:
    """Return the chunks that answer a question."""
    return sample.contexts if sample.answerable else ()


def old_testset_rows(samples: Sequence[Sample]) -> Iterator[dict[str, Any]]:
    """Yield rows like those of ``TestDataset.to_dataset`` in Ragas 0.1."""
    for sample in samples:
        yield {
            "question": sample.question,
            "contexts": [chunk.text for chunk in _reference(sample)],
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
    "testset.jsonl, testset-0.1.jsonl for Ragas 0.1, and conversations.jsonl if there are any",
    write_ragas,
    (TESTSET_FILE, OLD_TESTSET_FILE, CONVERSATIONS_FILE),
    last=TESTSET_FILE,
    corpus=False,
)
