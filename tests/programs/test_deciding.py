"""Decisions of critics."""

import math
from typing import Any

import dspy
import pytest

from programs.deciding import Decision, decide
from programs.errors import CriticError
from programs.numbers import logistic
from signatures.same import CompareQuestions


def test_without_overall_output_all_must_be_true() -> None:
    decision = Decision(values={"a": True, "b": False}, probabilities={"a": 0.9, "b": 0.2}, levels={})
    assert not decision.good
    assert decision.probability == 0.2
    assert decision.weakest == "b"


def test_overall_output_decides() -> None:
    decision = Decision(
        values={"fit": True, "clear": False}, probabilities={"fit": 0.6, "clear": 0.7, "independent": 0.65}, levels={}
    )
    assert decision.good
    assert decision.probability == 0.6
    assert decision.weakest == "independent"


class ConstantCritic:
    """Returns the same evidence for every question."""

    supports_decision_requests = True

    def __init__(self, evidence: dict[str, Any]) -> None:
        self.evidence = evidence

    def __call__(self, state: Any, questions: Any) -> Any:
        return dict.fromkeys(questions, self.evidence)


@pytest.mark.parametrize(
    "evidence",
    [
        {"noul": math.nan},
        {"noul": math.inf},
        {"noul": 1.2},
        {"noul": "much"},
        {"probabilities": {"0": math.nan, "1": 0.5}, "confidence": 0.1},
        {},
    ],
)
def test_invalid_probability_raises_critic_error(evidence: dict[str, Any]) -> None:
    with pytest.raises(CriticError, match="the critic's answer to same is not a probability") as caught:
        decide(dspy.Predict(CompareQuestions), ConstantCritic(evidence), first="Who?", second="Whom?")
    assert caught.value.exit_code == 2


def test_logistic_refuses_nan() -> None:
    assert logistic(math.inf) > 0.999
    with pytest.raises(CriticError, match="is not a number"):
        logistic(math.nan)
