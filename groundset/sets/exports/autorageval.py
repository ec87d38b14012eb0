"""Auto RAG Eval: `benchmark.json`.

The keys are those of the generator's README and of `transform_benchmark.py` beside it
(GoogleCloudPlatform/generative-ai, `search/auto-rag-eval`). `context` is one text: the chunks of a question
in their order.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from groundset.sets.exports.base import Export, kind_of, write_json
from programs.types import Sample

if TYPE_CHECKING:
    from groundset.run import Run

BENCHMARK_FILE = "benchmark.json"
PROFILE = "Q&A Gen Profile"


def write_autorageval(run: "Run", folder: Path) -> None:
    """Write the benchmark."""
    write_json(folder / BENCHMARK_FILE, [benchmark_row(sample) for sample in run.samples])


def benchmark_row(sample: Sample) -> dict[str, Any]:
    """Return a sample as a row; without a profile, its evolution and kind are used instead."""
    profile = sample.metadata.get("profile") or {"evolution": sample.evolution, "kind": kind_of(sample)}
    return {
        "context": "\n\n".join(chunk.text for chunk in sample.contexts),
        PROFILE: {name: value for name, value in profile.items() if value is not None},
        "Question": sample.question,
        "Answer": sample.answer,
    }


EXPORT = Export(
    "autorageval", "benchmark.json", write_autorageval, (BENCHMARK_FILE,), last=BENCHMARK_FILE, corpus=False
)
