"""The strategy ``fit-head``: a small classifier for each decision of a step, compared with hand-set weights."""

from collections.abc import Iterator, Sequence
from typing import Any

from optimizers.fit_critic import compare, fit_critic, thresholds_of, verdicts
from optimizers.gold import read_decided
from optimizers.labels import SPLITS, Split, hashes_of, splits_of
from optimizers.measures import recorded
from optimizers.report import CompileReport, new_state, versions_of
from optimizers.steps import FITTED
from optimizers.strategies.base import Resources, Strategy
from programs.critics import open_critics
from programs.critics.states import HEAD
from programs.judging import judge_rows
from programs.steps import STEPS

_HAND_SET_THRESHOLD = 0.5


def compile_heads(steps: Sequence[str], resources: Resources) -> Iterator[CompileReport]:
    """Fit the heads of steps, and yield the reports after all have succeeded.

    Raises:
        LabelError: a file is invalid, or a split has too few good or bad rows.
        TargetPrecisionError: the labels do not support the precision.
    """
    yield from [_compile_head(step, resources) for step in steps]


def _compile_head(step: str, resources: Resources) -> CompileReport:
    encoder, languages, listener = resources.encoder, resources.languages, resources.listener
    target, seed = resources.target_precision, resources.seed
    target = FITTED[step].target_precision if target is None else target
    parameters = {"embedder": resources.embedder, "target_precision": target, "seed": seed}
    resources.begin(step, HEAD, parameters)
    listener.say(f"Compiling {step}")
    files = resources.labels(FITTED[step].labels)
    hashes = hashes_of(files)
    splits: dict[Split, list[Any]] = splits_of(read_decided(FITTED[step].labels, files))
    fitted = fit_critic(step, splits, encoder, languages, target_precision=target, seed=seed, on_progress=listener.say)
    listener.say("Measuring the hand-set critic on the same rows")
    by_hand = open_critics("head", languages=languages, embedder=encoder)[step]
    before = {
        split: [
            decision.probability for decision in judge_rows(step, [label.inputs for label in splits[split]], by_hand)
        ]
        for split in SPLITS
    }
    measures, rows = compare(splits, verdicts(splits, before, _HAND_SET_THRESHOLD), fitted.verdicts)
    state = new_state(
        step,
        model=HEAD,
        model_sha256=encoder.sha256,
        optimizer=STRATEGY.name,
        predictor=thresholds_of(STEPS[step].signature, fitted.chosen.threshold),
        heads=fitted.heads,
        target_precision=target,
        threshold=fitted.chosen.threshold,
        curve=fitted.curve,
        kinds=dict(fitted.kinds),
        record={
            "labels": hashes,
            "rows": {split: len(labels) for split, labels in splits.items()},
            "documents": {split: len({row.document for row in labels}) for split, labels in splits.items()},
            "seed": seed,
            "versions": versions_of("dspy", "numpy", "scikit-learn", "sentence-transformers"),
            "measures": recorded(fitted.verdicts.measures),
        },
    )
    return CompileReport(state=state, measures=measures, rows=rows, parameters=parameters)


STRATEGY = Strategy(
    "fit-head", ("labels", "embedder"), "steps that decide, without any language model", compile_heads, "fitted"
)
