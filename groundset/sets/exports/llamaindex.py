"""LlamaIndex: `rag_dataset.json` with answers, `retrieval_dataset.json` with the corpus.

The first is a ``LabelledRagDataset``, the second an ``EmbeddingQAFinetuneDataset``, read off the source of
llama-index-core 0.14.20 (``rag.py`` and ``legacy/embedding.py`` in ``llama_index/core/llama_dataset``). A question has
one list of chunks in the second: every chunk of every group of ``retrieval_gt``. It does not say which of them stand in
for one another.
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
_READER = {"model_name": "", "type": "human"}


def write_llamaindex(run: "Run", folder: Path) -> None:
    """Write both datasets."""
    write_json(folder / RETRIEVAL_FILE, retrieval_dataset(run))
    write_json(folder / RAG_FILE, rag_dataset(run))


def rag_dataset(run: "Run") -> dict[str, Any]:
    """Return the questions with answers and contexts, and who wrote them: a model, or a reader who corrected them."""
    writer = _writer(run.settings)
    read = run.consensus

    def example(sample: Sample) -> dict[str, Any]:
        reading = read.get(sample.id)
        return {
            "query": sample.question,
            "query_by": _READER if reading and reading.question is not None else writer,
            "reference_contexts": [chunk.text for chunk in sample.contexts],
            "reference_answer": sample.answer,
            "reference_answer_by": _READER if reading and reading.answer is not None else writer,
        }

    return {"examples": [example(sample) for sample in run.samples]}


def retrieval_dataset(run: "Run") -> dict[str, Any]:
    """Return questions and chunks by id, and for each question the chunks that are relevant."""
    return {
        "queries": {sample.id: sample.question for sample in run.samples},
        "corpus": {chunk.chunk_id: chunk.text for chunk in run.chunks},
        "relevant_docs": {sample.id: relevant_ids(sample) for sample in run.samples},
        "mode": "text",
    }


def _writer(record: Mapping[str, Any]) -> dict[str, str] | None:
    """Return who wrote the questions of a run; None if its record does not name a language model for all of them."""
    model = (record.get("models") or {}).get("lm")
    if not model or UNKNOWN_MODEL in model["name"].split(" and "):  # the name of a merged run holds those of all
        return None
    return {"model_name": model["name"], "type": "ai"}


EXPORT = Export(
    "llamaindex",
    "rag_dataset.json and retrieval_dataset.json",
    write_llamaindex,
    (RAG_FILE, RETRIEVAL_FILE),
    last=RAG_FILE,
)
