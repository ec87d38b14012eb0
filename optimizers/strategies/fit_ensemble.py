"""The strategy ``fit-ensemble``: blend a head with a language model's verdict on the questions that the head accepts.

Language models judge well whether a passage answers a question, heads whether the question is self-contained. So the
model decides only the former, after the head has rejected the rest.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import dspy

from optimizers.fit_critic import compare, lowest_threshold, precision_curve, thinned, thresholds_of, verdicts
from optimizers.labels import QuestionLabel, Split, hashes_of, read_labels, refuse_test_rows, splits_of
from optimizers.measures import area_under_roc, paired_gain, recorded
from optimizers.report import CompileReport, new_state, versions_of
from optimizers.strategies.base import Listener, Resources, Strategy
from programs.critics import Critic
from programs.critics.ensemble import Blend, log_odds
from programs.critics.logprobs import LogprobCritic
from programs.critics.states import head_hash
from programs.deciding import decide, with_one_output
from programs.steps import STEPS
from programs.text import plain

OUTPUT = "answerable"
TARGET_PRECISION = 0.5  # the highest that the dev rows support; they are harder than generated questions
_STEP = "judge"
_FLOOR = 0.2
_FOLDS = 5
_PAIRS = 2
_LONGEST = 700  # characters of a passage in a demo
_SPLITS: tuple[Split, ...] = ("dev", "test")


def compile_ensemble(steps: Sequence[str], resources: Resources) -> Iterator[CompileReport]:
    """Fit the weights of head and model.

    They are fitted to dev rows, because the head was fitted to train rows. The threshold is chosen on out-of-fold
    probabilities of dev rows.

    Raises:
        InputError: the shipped head has another embedder.
        OptimizerError: labels are invalid or do not support the precision.
        GroundsetError: the model failed.
    """
    [step] = steps
    files = resources.labels(QuestionLabel)
    splits = splits_of(read_labels(QuestionLabel, files))
    refuse_test_rows([*splits["train"], *splits["dev"]])
    judge, head, shipped = resources.shipped_critic(step)
    demos = demos_of(splits["train"])
    target = TARGET_PRECISION if resources.target_precision is None else resources.target_precision
    parameters = {"embedder": resources.embedder, "target_precision": target}
    model = resources.model
    resources.begin(step, model.name, parameters)
    by_head = {split: _by_head(judge, head, splits[split]) for split in _SPLITS}
    resources.listener.start(step, sum(p >= _FLOOR for scores in by_head.values() for p in scores))
    used, critic = model.usage(), LogprobCritic(model.lm)
    by_model = {split: _by_model(splits[split], by_head[split], demos, critic, resources.listener) for split in _SPLITS}
    figures = {name: value - used[name] for name, value in model.usage().items()}
    both = {split: [(by_head[split][n], p) for n, p in by_model[split].items()] for split in _SPLITS}
    dev = [splits["dev"][n] for n in by_model["dev"]]
    good = [label.good for label in dev]
    blend = fit_blend(both["dev"], good)
    blended = {
        "dev": held_out(both["dev"], good, [label.document for label in dev]),
        "test": [blend.probability(*pair) for pair in both["test"]],
    }
    after: dict[Split, list[float]] = {}
    for split in _SPLITS:  # rows that the head rejects keep its probability
        blends = dict(zip(by_model[split], blended[split], strict=True))
        after[split] = [blends.get(n, probability) for n, probability in enumerate(by_head[split])]
    curve = precision_curve([label.good for label in splits["dev"]], after["dev"])
    chosen = lowest_threshold(curve, target)
    measures, rows = compare(
        splits, verdicts(splits, by_head, shipped.threshold or 0.5), verdicts(splits, after, chosen.threshold)
    )
    for split in _SPLITS:
        good, documents = [label.good for label in splits[split]], [label.document for label in splits[split]]
        measures["gain"][f"{split}_auc"] = paired_gain(area_under_roc, good, by_head[split], after[split], documents)
    assert shipped.heads is not None
    counts = {split: len(by_model[split]) for split in _SPLITS}
    state = new_state(
        step,
        model=model.name,
        model_sha256=model.sha256,
        optimizer=STRATEGY.name,
        predictor=thresholds_of(judge.signature, chosen.threshold) | {"demos": demos},
        blend=blend,
        head=head_hash(shipped.heads),
        target_precision=target,
        threshold=chosen.threshold,
        curve=thinned(curve, chosen),
        record={
            "labels": hashes_of(files),
            "rows": {split: len(splits[split]) for split in _SPLITS},
            "asked": counts,
            "versions": versions_of("dspy", "xllamacpp", "scikit-learn"),
            "measures": recorded(measures),
        },
    )
    figures["calls"] = sum(counts.values())
    yield CompileReport(state=state, measures=measures, rows=rows, parameters=parameters, figures=figures)


def fit_blend(both: Sequence[tuple[float, float]], good: Sequence[bool]) -> Blend:
    """Fit the weights to the probabilities of head and model on held-out rows of the head."""
    from sklearn.linear_model import LogisticRegression

    fitted = LogisticRegression().fit(_evidence(both), list(good))
    weights = [round(float(weight), 6) for weight in (*fitted.intercept_, *fitted.coef_[0])]
    return Blend(asked=OUTPUT, floor=_FLOOR, intercept=weights[0], head=weights[1], model=weights[2])


def held_out(both: Sequence[tuple[float, float]], good: Sequence[bool], groups: Sequence[str]) -> list[float]:
    """Return the out-of-fold probability of each row, in five folds by group."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GroupKFold, cross_val_predict

    predicted = cross_val_predict(
        LogisticRegression(),
        _evidence(both),
        list(good),
        groups=list(groups),
        cv=GroupKFold(_FOLDS),
        method="predict_proba",
    )
    return [float(probability) for probability in predicted[:, 1]]


def demos_of(train: Sequence[QuestionLabel]) -> list[dict[str, object]]:
    """Return demos for the model: pairs of an unanswerable and an answerable question."""
    short = [label for label in train if len(label.passage) < _LONGEST and label.language == "en"]
    answerable = [label for label in short if label.good and label.answer and label.answer.label == "correct"]
    unanswerable = [label for label in short if label.reason == "unanswerable"]
    return [
        {
            "passage": plain(label.passage),
            "question": label.question,
            OUTPUT: label.good,
            "explanation": label.explanation,
        }
        for pair in list(zip(unanswerable, answerable, strict=False))[:_PAIRS]
        for label in pair
    ]


def _evidence(both: Sequence[tuple[float, float]]) -> list[list[float]]:
    return [[log_odds(head), log_odds(model)] for head, model in both]


def _by_head(judge: dspy.Predict, critic: Critic, labels: Sequence[QuestionLabel]) -> list[float]:
    pairs = [{"passage": plain(label.passage), "question": label.question} for label in labels]
    critic.embed_ahead(pairs)
    return [decide(judge, critic, **pair).probability for pair in pairs]


def _by_model(
    labels: Sequence[QuestionLabel],
    head: Sequence[float],
    demos: Sequence[dict[str, Any]],
    critic: Critic,
    listener: Listener,
) -> dict[int, float]:
    """Return the model's probabilities of the rows that the head accepts, by index."""
    predict = dspy.Predict(with_one_output(STEPS[_STEP].signature, OUTPUT))
    predict.demos = list(demos)
    probabilities = {}
    for n, label in enumerate(labels):
        if head[n] >= _FLOOR:
            listener.call()
            decision = decide(predict, critic, passage=plain(label.passage), question=label.question)
            probabilities[n] = decision.probabilities[OUTPUT]
    return probabilities


STRATEGY = Strategy(
    "fit-ensemble", ("labels", "embedder", "lm"), "judge, with a model of 1.5B or more", compile_ensemble, "judge"
)
