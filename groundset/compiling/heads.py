"""Compiling the heads of the deciding steps."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from groundset.compiling.comparison import Verdicts, compare, verdicts
from groundset.compiling.labels import label_files
from groundset.compiling.record import Started, asked_parameters, environment, untracked, write_report
from groundset.retrieval.embedder import load_embedder
from optimizers.compile_head import CompiledHead, compile_head
from optimizers.labels import SPLITS, Split, read_all
from optimizers.report import CompileReport
from optimizers.steps import FITTED
from optimizers.strategies.fit_head import STRATEGY
from programs.critics import open_critics
from programs.critics.states import HEAD
from programs.judging import judge_rows
from programs.languages import LANGUAGES
from programs.languages.table import Languages

_HAND_SET_THRESHOLD = 0.5


def compile_heads(
    steps: Sequence[str],
    labels: Sequence[Path],
    *,
    embedder: str,
    target_precision: float | None,
    seed: int,
    out: Path,
    on_progress: Callable[[str], None],
    started: Started = untracked,
) -> list[tuple[CompileReport, Path]]:
    """Fit the heads of steps and write their states to ``<out>/head/<step>.json``, once all have succeeded.

    ``started`` is told of each step before it is fitted.

    Raises:
        InputError: the folder cannot be written.
        OptimizerError: labels are wrong or do not support the precision.
    """
    read_all(labels)  # what is wrong with them should be said before minutes are spent
    encoder, languages = load_embedder(embedder), Languages(LANGUAGES)
    reports = []
    for step in steps:
        target = FITTED[step].target_precision if target_precision is None else target_precision
        asked = {"embedder": embedder, "target_precision": target, "seed": seed}
        parameters = asked_parameters(STRATEGY.name, asked)
        started(step, HEAD, STRATEGY.name, parameters)
        on_progress(f"Compiling {step}")
        compiled = compile_head(
            step,
            label_files(labels, FITTED[step].labels),
            encoder,
            languages,
            encoder_sha256=encoder.sha256,
            target_precision=target,
            seed=seed,
            on_progress=on_progress,
        )
        on_progress("Measuring the critic that is set by hand on the same rows")
        reports.append(_report(step, compiled, encoder, languages, {**parameters, **environment(compiled.state)}))
    return [(report, write_report(report, out)) for report in reports]


def _report(
    step: str, compiled: CompiledHead, encoder: Any, languages: Languages, parameters: dict[str, Any]
) -> CompileReport:
    """Return the report of a head, compared with the critic set by hand on the same rows."""
    by_hand, fitted = open_critics("head", languages=languages, embedder=encoder)[step], compiled.fitted
    before: dict[Split, list[float]] = {}
    after: dict[Split, list[float]] = {}
    for split in SPLITS:
        labels = compiled.splits[split]
        judged = judge_rows(step, [label.inputs for label in labels], by_hand)
        before[split] = [decision.probability for decision in judged]
        after[split] = [fitted.probabilities[split][label.id] for label in labels]
    measures, rows = compare(
        compiled.splits,
        verdicts(compiled.splits, before, _HAND_SET_THRESHOLD),
        Verdicts(after, fitted.chosen.threshold, fitted.measures),
    )
    return CompileReport(state=compiled.state, measures=measures, rows=rows, parameters=parameters)
