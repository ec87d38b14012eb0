"""DeepEval: `goldens.json`, a list of goldens.

The schema is that of ``EvaluationDataset.add_goldens_from_json_file`` in DeepEval 4.3.1
(``deepeval/dataset/dataset.py``, ``deepeval/dataset/golden.py``). Values without a field of their own are in
``additional_metadata``.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from groundset.sets.exports.base import Export, other_answers, question_row, write_json
from programs.types import Sample

if TYPE_CHECKING:
    from groundset.run import Run

GOLDENS_FILE = "goldens.json"
_METADATA = (
    "evolution", "kind", "language", "split", "paths", "chunk_ids", "retrieval_gt", "rank", "probability",
)  # fmt: skip


def write_deepeval(run: "Run", folder: Path) -> None:
    """Write the goldens."""
    write_json(folder / GOLDENS_FILE, [golden(sample) for sample in run.samples])


def golden(sample: Sample) -> dict[str, Any]:
    """Return a sample as a golden; ``source_file`` is the first of its paths."""
    row = question_row(sample)
    return {
        "name": row["id"],
        "input": row["question"],
        "expected_output": row["answer"],
        "context": row["contexts"],
        "source_file": row["paths"][0] if row["paths"] else None,
        "additional_metadata": {
            **{name: row[name] for name in _METADATA},
            **({"answer_variants": others} if (others := other_answers(sample)) else {}),
        },
    }


EXPORT = Export("deepeval", "goldens.json", write_deepeval, (GOLDENS_FILE,), last=GOLDENS_FILE, corpus=False)
