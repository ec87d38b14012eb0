"""Evaluation datasets of MLflow (`mlflow.genai.datasets`): a record a question, with what its
scorers expect.
"""

from collections.abc import Iterator
from typing import Any

from groundset.exports.sets import EvaluationSet
from groundset.programs.checks import TELLING
from groundset.retrieval.gold import evidence_in
from groundset.tracking import Tracking


def records(found: EvaluationSet) -> Iterator[dict[str, Any]]:
    """Yield a record for each question.

    Each chunk of its expected context has the number of its ``group``: of each group, one chunk is
    needed. Chunks of another chunker serve as well if they hold the ``evidence``.
    """
    chunks = {chunk.chunk_id: chunk for chunk in found.chunks}
    runs = {sample.id: run.folder.name for run in reversed(found.runs) for sample in run.samples}
    for sample in found.samples:
        context = []
        for group, names in enumerate(sample.retrieval_gt):
            for chunk in map(chunks.__getitem__, names):
                told = {
                    "doc_uri": chunk.path,
                    "content": chunk.text,
                    "chunk_id": chunk.chunk_id,
                    "group": group,
                }
                context.append(told | {"evidence": evidence_in(sample, chunk, TELLING)})
        tags = {"evolution": sample.evolution, "kind": sample.kind, "language": sample.language}
        tags |= {"run": runs[sample.id], "sample_id": sample.id, "split": found.split_of(sample)}
        yield {
            "inputs": {"question": sample.question},
            # Not also `expected_facts`: MLflow's own scorer `Correctness` refuses a record with
            # both.
            "expectations": {
                "expected_response": sample.answer,
                "expected_retrieved_context": context,
            },
            "tags": {name: value for name, value in tags.items() if value},
            "source": {
                "source_type": "DOCUMENT",
                "source_data": {"doc_uri": sample.contexts[0].path},
            },
        }


def make_dataset(
    found: EvaluationSet, name: str, tracking: str | None = None, *, track_texts: bool = False
) -> None:
    """Make or extend an evaluation dataset of a store; see :meth:`Tracking.log_dataset`."""
    tags = {"made_by": "groundset", "runs": ", ".join(run.folder.name for run in found.runs)}
    Tracking(tracking, texts=track_texts).log_dataset(name, list(records(found)), tags)
