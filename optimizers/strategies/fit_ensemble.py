"""The strategy ``fit-ensemble``: a head, and what a language model says of the questions that the head lets pass.

Models that can tell whether a passage answers a question cannot tell whether the question stands alone, and heads can
do the second better than the first. So the model is asked that alone, after the head has refused the rest.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
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
from programs.deciding import asking_only, decide
from programs.steps import STEPS
from programs.text import plain

ASKED = "answerable"
TARGET_PRECISION = 0.5  # of dev rows, which are harder than what runs write: what they support
_STEP = "judge"
_FLOOR = 0.2
_FOLDS = 5
_PAIRS = 2
_LONGEST = 700  # characters of a demo's passage
_SPLITS: tuple[Split, ...] = ("dev", "test")


@dataclass(frozen=True)
class _Rows:
    """Labelled questions of a split with the probabilities of the head, and of the model where it was asked."""

    labels: Sequence[QuestionLabel]
    head: Sequence[float]
    model: Sequence[float | None]

    @property
    def asked(self) -> list[int]:
        return [place for place, probability in enumerate(self.model) if probability is not None]

    def of_asked(self) -> tuple[list[float], list[float], list[bool]]:
        return (
            [self.head[n] for n in self.asked],
            [self.model[n] or 0.0 for n in self.asked],
            [self.labels[n].good for n in self.asked],
        )

    def with_asked(self, probabilities: Sequence[float]) -> list[float]:
        """Return the head's probabilities with others for the rows that the model was asked about."""
        found = list(self.head)
        for place, probability in zip(self.asked, probabilities, strict=True):
            found[place] = probability
        return found


def compile_ensemble(steps: Sequence[str], resources: Resources) -> Iterator[CompileReport]:
    """Fit how head and model decide together.

    Both are weighed on dev rows, because the head was fitted to the train rows; the threshold is chosen on what
    blends fitted to other documents say of them, for a precision of 0.5 if nobody names one.

    Raises:
        InputError: the shipped head has another embedder.
        OptimizerError: labels are wrong or do not support the precision.
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
    by_head = {split: _decided(judge, head, splits[split]) for split in _SPLITS}
    resources.listener.start(step, sum(p >= _FLOOR for found in by_head.values() for p in found))
    used, critic = model.usage(), LogprobCritic(model.lm)
    rows = {split: _asked(splits[split], by_head[split], demos, critic, resources.listener) for split in _SPLITS}
    figures = {name: value - used[name] for name, value in model.usage().items()}
    blend = fit_blend(*rows["dev"].of_asked())
    documents = [rows["dev"].labels[place].document for place in rows["dev"].asked]
    seen, heard, _ = rows["test"].of_asked()
    after: dict[Split, list[float]] = {
        "dev": rows["dev"].with_asked(held_out(*rows["dev"].of_asked(), documents)),
        "test": rows["test"].with_asked([blend.probability(*both) for both in zip(seen, heard, strict=True)]),
    }
    curve = precision_curve([label.good for label in splits["dev"]], after["dev"])
    chosen = lowest_threshold(curve, target)
    measures, compared = compare(
        splits, verdicts(splits, by_head, shipped.threshold or 0.5), verdicts(splits, after, chosen.threshold)
    )
    for split in _SPLITS:
        good, documents = [label.good for label in splits[split]], [label.document for label in splits[split]]
        measures["gain"][f"{split}_auc"] = paired_gain(area_under_roc, good, by_head[split], after[split], documents)
    assert shipped.heads is not None
    asked = {split: len(rows[split].asked) for split in _SPLITS}
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
            "rows": {split: len(rows[split].labels) for split in _SPLITS},
            "asked": asked,
            "versions": versions_of("dspy", "xllamacpp", "scikit-learn"),
            "measures": recorded(measures),
        },
    )
    figures["calls"] = sum(asked.values())
    yield CompileReport(state=state, measures=measures, rows=compared, parameters=parameters, figures=figures)


def fit_blend(head: Sequence[float], model: Sequence[float], good: Sequence[bool]) -> Blend:
    """Fit the weights to rows that the head was not fitted to."""
    from sklearn.linear_model import LogisticRegression

    fitted = LogisticRegression().fit(_evidence(head, model), list(good))
    weights = [round(float(weight), 6) for weight in (*fitted.intercept_, *fitted.coef_[0])]
    return Blend(asked=ASKED, floor=_FLOOR, intercept=weights[0], head=weights[1], model=weights[2])


def held_out(head: Sequence[float], model: Sequence[float], good: Sequence[bool], groups: Sequence[str]) -> list[float]:
    """Return for each row what a blend fitted to the rows of other groups says, in five folds."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GroupKFold, cross_val_predict

    found = cross_val_predict(
        LogisticRegression(),
        _evidence(head, model),
        list(good),
        groups=list(groups),
        cv=GroupKFold(_FOLDS),
        method="predict_proba",
    )
    return [float(probability) for probability in found[:, 1]]


def demos_of(train: Sequence[QuestionLabel]) -> list[dict[str, object]]:
    """Return labelled demos of what the model is asked: pairs of an unanswerable question and an answered one."""
    short = [label for label in train if len(label.passage) < _LONGEST and label.language == "en"]
    answered = [label for label in short if label.good and label.answer and label.answer.label == "correct"]
    unanswerable = [label for label in short if label.reason == "unanswerable"]
    return [
        {
            "passage": plain(label.passage),
            "question": label.question,
            ASKED: label.good,
            "explanation": label.explanation,
        }
        for pair in list(zip(unanswerable, answered, strict=False))[:_PAIRS]
        for label in pair
    ]


def _evidence(head: Sequence[float], model: Sequence[float]) -> list[list[float]]:
    return [[log_odds(first), log_odds(second)] for first, second in zip(head, model, strict=True)]


def _decided(judge: dspy.Predict, critic: Critic, labels: Sequence[QuestionLabel]) -> list[float]:
    pairs = [{"passage": plain(label.passage), "question": label.question} for label in labels]
    critic.embed_ahead(pairs)
    return [decide(judge, critic, **pair).probability for pair in pairs]


def _asked(
    labels: Sequence[QuestionLabel],
    head: Sequence[float],
    demos: Sequence[dict[str, Any]],
    critic: Critic,
    listener: Listener,
) -> _Rows:
    """Ask the model about the rows that the head does not refuse."""
    predict = dspy.Predict(asking_only(STEPS[_STEP].signature, ASKED))
    predict.demos = list(demos)
    found: list[float | None] = []
    for label, probability in zip(labels, head, strict=True):
        if probability < _FLOOR:
            found.append(None)
            continue
        listener.call()
        decision = decide(predict, critic, passage=plain(label.passage), question=label.question)
        found.append(decision.probabilities[ASKED])
    return _Rows(labels, head, found)


STRATEGY = Strategy(
    "fit-ensemble", ("labels", "embedder", "lm"), "judge, with a model of 1.5B or more", compile_ensemble, "judge"
)
