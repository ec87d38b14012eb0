"""The critic ``lm``."""

import math
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import dspy
import pytest

from programs.critics.logprobs import LogprobCritic
from programs.deciding import Decision, decide
from programs.errors import ModelError
from signatures.judge import JudgeQuestion


class LikelyYes:
    """Finds "yes" three times as likely as "no", whatever it is asked."""

    model = "local/x"

    def __init__(self) -> None:
        self.requests: list[Any] = []

    def __call__(self, request: Any) -> Any:
        self.requests.append(request)
        top = [SimpleNamespace(token=" yes", logprob=math.log(0.6)), SimpleNamespace(token="No", logprob=math.log(0.2))]
        return SimpleNamespace(logprobs=[SimpleNamespace(token=" yes", logprob=math.log(0.6), top=top)])


def texts(request: Any) -> list[str]:
    return ["".join(part.text for part in message.parts) for message in request.messages]


def test_probabilities_are_normalised_over_labels() -> None:
    decision = decide(dspy.Predict(JudgeQuestion), LogprobCritic(LikelyYes()), passage="P.", question="Q?")
    assert set(decision.probabilities) == {"fit", "independent", "clear", "answerable"}
    assert all(p == pytest.approx(0.75) for p in decision.probabilities.values())


def test_demo_turns_have_inputs_and_label() -> None:
    lm = LikelyYes()
    predict = dspy.Predict(JudgeQuestion)
    predict.demos = [
        dspy.Example(passage="The mill burned.", question="What burned?", clear=True, answerable=False),
    ]
    decide(predict, LogprobCritic(lm), passage="P.", question="Q?")
    by_question = dict(zip(("fit", "independent", "clear", "answerable"), map(texts, lm.requests), strict=True))
    assert len(by_question["fit"]) == len(by_question["independent"]) == 1
    assert by_question["clear"][1] == "yes"
    assert by_question["answerable"][1] == "no"
    for name in ("clear", "answerable"):
        assert by_question[name][0].startswith("Passage: The mill burned.\nQuestion: What burned?\n\n")


def decide_with(no: float, yes: float) -> Decision:
    top = [SimpleNamespace(token="no", logprob=no), SimpleNamespace(token="yes", logprob=yes)]
    response = SimpleNamespace(logprobs=[SimpleNamespace(token="no", logprob=no, top=top)])
    lm = Mock(return_value=response, model="local/x")
    return decide(dspy.Predict(JudgeQuestion), LogprobCritic(lm), passage="P.", question="Q?")


@pytest.mark.parametrize("logprob", [math.nan, math.inf, 1000.0, 0.1])
def test_invalid_log_probability_is_refused(logprob: float) -> None:
    with pytest.raises(ModelError, match="invalid log-probabilities"):
        decide_with(-0.1, logprob)


@pytest.mark.parametrize("logprob", [-math.inf, -9999.0, 1e-6])
def test_rounded_log_probability_is_accepted(logprob: float) -> None:
    assert 0 <= decide_with(0.0, logprob).probability <= 0.5 + 1e-6
