"""DeepEval: `goldens.json`, a list of goldens, and `conversations.json`, a list of conversational goldens, if any.

The schema is that of ``EvaluationDataset.add_goldens_from_json_file`` in DeepEval 4.3.1
(``deepeval/dataset/dataset.py``, ``deepeval/dataset/golden.py``), which reads either kind, not both. Values without a
field of their own are in ``additional_metadata``. The ``context`` is the ideal one: an unanswerable question has none.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from groundset.sets.exports.base import Export, other_answers, question_row, write_json
from programs.types import Sample

if TYPE_CHECKING:
    from groundset.run import Run

GOLDENS_FILE = "goldens.json"
CONVERSATIONS_FILE = "conversations.json"
_METADATA = (
    "evolution", "kind", "language", "split", "paths", "chunk_ids", "retrieval_gt", "answerable", "rank",
    "probability",
)  # fmt: skip


def write_deepeval(run: "Run", folder: Path) -> None:
    """Write the goldens, and the conversations if there are any."""
    if conversations := [conversational_golden(sample) for sample in run.samples if sample.conversation]:
        write_json(folder / CONVERSATIONS_FILE, conversations)
    write_json(folder / GOLDENS_FILE, [golden(sample) for sample in run.samples])


def golden(sample: Sample) -> dict[str, Any]:
    """Return a sample as a golden; ``source_file`` is the first of its paths."""
    row = question_row(sample)
    return {
        "name": row["id"],
        "input": row["question"],
        "expected_output": row["answer"],
        "context": row["contexts"] if sample.answerable else [],
        "source_file": row["paths"][0] if row["paths"] else None,
        "additional_metadata": {
            **{name: row[name] for name in _METADATA},
            **({"answer_variants": others} if (others := other_answers(sample)) else {}),
        },
    }


def conversational_golden(sample: Sample) -> dict[str, Any]:
    """Return the conversation of a sample as a golden: its scenario is the stand-alone question."""
    single = golden(sample)
    return {
        "name": single["name"],
        "scenario": single["input"],
        "expected_outcome": single["expected_output"],
        "context": single["context"],
        "turns": sample.conversation,
        "additional_metadata": single["additional_metadata"],
    }


EXPORT = Export(
    "deepeval",
    "goldens.json, and conversations.json if there are any",
    write_deepeval,
    (GOLDENS_FILE, CONVERSATIONS_FILE),
    last=GOLDENS_FILE,
    corpus=False,
)
