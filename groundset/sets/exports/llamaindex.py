"""LlamaIndex: `rag_dataset.json` with answers, `retrieval_dataset.json` with the corpus.

The first is a ``LabelledRagDataset``, the second an ``EmbeddingQAFinetuneDataset``, as in llama-index-core 0.14.20
(``rag.py`` and ``legacy/embedding.py`` in ``llama_index/core/llama_dataset``). In the second, a question has a flat
list of chunks: the groups of ``retrieval_gt`` are lost. Its evaluators require relevant chunks, so unanswerable
questions are only in the first, without contexts.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from groundset.sets.exports.base import Export, relevant_ids, write_json
from groundset.store.lineage import UNKNOWN_MODEL
from programs.types import Sample

if TYPE_CHECKING:
    from groundset.run import Run

RAG_FILE = "rag_dataset.json"
RETRIEVAL_FILE = "retrieval_dataset.json"
_HUMAN = {"model_name": "", "type": "human"}


def write_llamaindex(run: "Run", folder: Path) -> None:
    """Write both datasets."""
    write_json(folder / RETRIEVAL_FILE, retrieval_dataset(run))
    write_json(folder / RAG_FILE, rag_dataset(run))


def rag_dataset(run: "Run") -> dict[str, Any]:
    """Return the questions with answers, contexts and authors (a model, or a person for corrected texts)."""
    author = _author(run.settings)

    def example(sample: Sample) -> dict[str, Any]:
        consensus = run.consensus.get(sample.id)
        return {
            "query": sample.question,
            "query_by": _HUMAN if consensus and consensus.question is not None else author,
            "reference_contexts": [chunk.text for chunk in sample.contexts] if sample.answerable else [],
            "reference_answer": sample.answer,
            "reference_answer_by": _HUMAN if consensus and consensus.answer is not None else author,
        }

    return {"examples": [example(sample) for sample in run.samples]}


def retrieval_dataset(run: "Run") -> dict[str, Any]:
    """Return questions and chunks by id, and the relevant chunks of each question."""
    answerable = [sample for sample in run.samples if sample.answerable]
    return {
        "queries": {sample.id: sample.question for sample in answerable},
        "corpus": {chunk.chunk_id: chunk.text for chunk in run.chunks},
        "relevant_docs": {sample.id: relevant_ids(sample) for sample in answerable},
        "mode": "text",
    }


def _author(settings: Mapping[str, Any]) -> dict[str, str] | None:
    """Return the language model that wrote the questions of a run, None if it is not known for all of them."""
    model = (settings.get("models") or {}).get("lm")
    if not model or UNKNOWN_MODEL in model["name"].split(" and "):  # merged runs join the names
        return None
    return {"model_name": model["name"], "type": "ai"}


EXPORT = Export(
    "llamaindex",
    "rag_dataset.json and retrieval_dataset.json",
    write_llamaindex,
    (RAG_FILE, RETRIEVAL_FILE),
    last=RAG_FILE,
)
