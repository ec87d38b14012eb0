"""Compiling with the labels that groundset ships and the user's own, into a folder."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from groundset.data_files import data_path
from groundset.exports.files import atomic_file
from groundset.retrieval.embedder import load_embedder
from optimizers.compile_head import compile_head
from optimizers.fit_critic import FittedCritic
from optimizers.labels import read_all
from optimizers.states import HEAD, CompiledState, write_state

LABEL_FILES = {"chunk": "chunks.jsonl", "judge": "questions.jsonl"}
# What the shipped labels support with a useful share of the good rows left.
TARGET_PRECISION = {"chunk": 0.8, "judge": 0.55}


class Compilation(NamedTuple):
    """A compiled step: its state, the file that holds it, and how it fared."""

    state: CompiledState
    file: Path
    fitted: FittedCritic


def compile_heads(
    steps: Sequence[str],
    labels: Sequence[Path],
    *,
    embedder: str,
    target_precision: float | None,
    seed: int,
    out: Path,
    on_progress: Callable[[str], None],
) -> list[Compilation]:
    """Fit the heads of steps and write their states to ``<out>/head/<step>.json``, once all have succeeded.

    Raises:
        InputError: the folder cannot be written.
        OptimizerError: labels are wrong or do not support the precision.
    """
    read_all(labels)  # what is wrong with them should be said before minutes are spent
    encoder = load_embedder(embedder)
    results = []
    for step in steps:
        on_progress(f"Compiling {step}")
        compiled = compile_head(
            step,
            [data_path("labels", LABEL_FILES[step]), *labels],
            encoder,
            encoder_sha256=encoder.sha256,
            target_precision=TARGET_PRECISION[step] if target_precision is None else target_precision,
            seed=seed,
            on_progress=on_progress,
        )
        results.append(Compilation(compiled.state, out / HEAD / f"{step}.json", compiled.fitted))
    for result in results:
        with atomic_file(result.file) as aside:
            write_state(result.state, aside)
    return results
