"""The strategy ``fit-ensemble``: a head, and what a language model says of the rows that the head does not refuse.

Models that can tell whether a passage answers a question cannot tell whether the question stands alone, and heads can
do the second better than the first. So the model is asked that alone, after the head has refused the rest.
"""

from collections.abc import Sequence

from optimizers.labels import QuestionLabel
from programs.critics.ensemble import Blend, log_odds
from programs.text import plain

ASKED = "answerable"
FLOOR = 0.2
_FOLDS = 5
_PAIRS = 2
_LONGEST = 700  # characters of a demo's passage


def fit_blend(head: Sequence[float], model: Sequence[float], good: Sequence[bool]) -> Blend:
    """Fit the weights to rows that the head was not fitted to."""
    from sklearn.linear_model import LogisticRegression

    fitted = LogisticRegression().fit(_evidence(head, model), list(good))
    weights = [round(float(weight), 6) for weight in (*fitted.intercept_, *fitted.coef_[0])]
    return Blend(asked=ASKED, floor=FLOOR, intercept=weights[0], head=weights[1], model=weights[2])


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
