"""Agent Development Kit: `evaluation.json`, questions with reference answers and no tool use.

The keys are those that `transform_benchmark.py` of Auto RAG Eval makes of a benchmark
(GoogleCloudPlatform/generative-ai, `search/auto-rag-eval`), which indents by 2.
"""

import json
from pathlib import Path
from typing import TYPE_CHECKING

from groundset.sets.exports.base import Export

if TYPE_CHECKING:
    from groundset.run import Run

EVALUATION_FILE = "evaluation.json"


def write_adk(run: "Run", folder: Path, *, indent: int = 2) -> None:
    """Write the questions; an ``indent`` of 0 puts each value on a line of its own without spaces before it."""
    rows = [{"query": sample.question, "expected_tool_use": [], "reference": sample.answer} for sample in run.samples]
    text = json.dumps(rows, indent=indent)
    (folder / EVALUATION_FILE).write_text(text + "\n", encoding="ascii", newline="\n")


EXPORT = Export(
    "adk",
    "evaluation.json",
    write_adk,
    (EVALUATION_FILE,),
    last=EVALUATION_FILE,
    corpus=False,
    options=("indent",),
)
