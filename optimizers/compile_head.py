"""From label files to the compiled state of a head."""

from collections.abc import Callable, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

from optimizers.fit_critic import FittedCritic, fit_critic, thresholds_of
from optimizers.gold import read_decided
from optimizers.labels import Split, hashes_of, splits_of
from optimizers.measures import recorded
from optimizers.steps import FITTED
from optimizers.strategies.fit_head import STRATEGY
from programs.critics.base import Encoder
from programs.critics.states import HEAD, CompiledState, dspy_version, signature_hash
from programs.languages.table import Languages
from programs.steps import STEPS

_LIBRARIES = ("dspy", "numpy", "scikit-learn", "sentence-transformers")


class CompiledHead(NamedTuple):
    """A state with what was measured on the way, and the labels by split."""

    state: CompiledState
    fitted: FittedCritic
    splits: dict[Split, list[Any]]


def compile_head(
    step: str,
    files: Sequence[Path],
    encoder: Encoder,
    languages: Languages,
    *,
    encoder_sha256: str,
    target_precision: float,
    seed: int = 0,
    on_progress: Callable[[str], None] | None = None,
) -> CompiledHead:
    """Fit the head of a step to the labels in files and return its state.

    Raises:
        LabelError: a file is wrong, or a split lacks good or bad rows.
        PromiseError: the labels do not support the precision.
    """
    hashes = hashes_of(files)
    splits: dict[Split, list[Any]] = splits_of(read_decided(FITTED[step].labels, files))
    fitted = fit_critic(
        step, splits, encoder, languages, target_precision=target_precision, seed=seed, on_progress=on_progress
    )
    signature = STEPS[step].signature
    record: dict[str, Any] = {
        "labels": hashes,
        "rows": {name: len(rows) for name, rows in splits.items()},
        "documents": {name: len({row.document for row in rows}) for name, rows in splits.items()},
        "seed": seed,
        "versions": {name: metadata.version(name) for name in _LIBRARIES},
        "measures": recorded(fitted.measures),
    }
    state = CompiledState(
        step=step,
        model=HEAD,
        model_sha256=encoder_sha256,
        optimizer=STRATEGY.name,
        signature=signature_hash(signature),
        dspy=dspy_version(),
        predictor=thresholds_of(signature, fitted.chosen.threshold),
        heads=fitted.heads,
        target_precision=target_precision,
        threshold=fitted.chosen.threshold,
        curve=fitted.curve,
        kinds=dict(fitted.kinds),
        record=record,
    )
    return CompiledHead(state, fitted, splits)
