"""The critic that reads: what it asks, and what it makes of whatever is answered."""

from typing import Any

import pytest
from dspy.lm15 import Message, Request, Response, Usage
from hypothesis import given
from hypothesis import strategies as st

from programs.critics.verdict import UNREADABLE, VerdictCritic, parse_verdicts
from programs.deciding import decide
from programs.steps import STEPS

ASKED = {"passage": "The mill of Orsle was built in 1822.", "question": "When was the mill of Orsle built?"}
GOOD = (
    "Independent: it names the mill; yes, 95\nClear: one date; yes 90%\n**Answerable:** stated; Yes, 98\nFit: yes, 93"
)


class Model:
    """Answers with its next line, the last one again and again."""

    model = "openai/reader"

    def __init__(self, *texts: str) -> None:
        self._texts = list(texts)
        self.requests: list[Request] = []

    def __call__(self, request: Request) -> Response:
        self.requests.append(request)
        text = self._texts.pop(0) if len(self._texts) > 1 else self._texts[0]
        usage = Usage(input_tokens=1, output_tokens=1, total_tokens=2)
        return Response(id=None, model=self.model, message=Message.assistant(text), finish_reason="stop", usage=usage)


def judged(*texts: str, step: str = "judge", **inputs: str) -> tuple[Any, Model]:
    model = Model(*texts)
    return decide(STEPS[step].predictor(), VerdictCritic(step, model), **(inputs or ASKED)), model


def test_one_call_decides_everything_with_reasons() -> None:
    decision, model = judged(GOOD)
    assert len(model.requests) == 1
    assert decision.good
    assert decision.probabilities == {"fit": 0.93, "independent": 0.95, "clear": 0.9, "answerable": 0.98}
    assert decision.reasons["independent"] == "it names the mill"


def test_what_is_static_stands_first_and_the_whole_is_asked_last() -> None:
    _, model = judged(GOOD)
    system = str(model.requests[0].system)
    assert ASKED["question"] not in system
    assert system.index("Answerable:") < system.index("Fit:")
    assert model.requests[0].messages[-1].text == f"Passage: {ASKED['passage']}\nQuestion: {ASKED['question']}"


def test_a_refusal_is_told_in_the_words_of_the_critic() -> None:
    decision, _ = judged(
        GOOD.replace("it names the mill; yes, 95", "there are two mills; no, 80").replace("yes, 93", "no, 85")
    )
    assert not decision.good
    assert (decision.weakest, decision.objection) == ("independent", "there are two mills")
    assert decision.probability == pytest.approx(0.15)


def test_what_cannot_be_read_is_asked_again_and_then_refused() -> None:
    decision, model = judged("I cannot say.", GOOD)
    assert decision.good
    assert [request.config.temperature for request in model.requests] == [0.0, 0.7]
    decision, model = judged("I cannot say.")
    assert not decision.good
    assert decision.objection == UNREADABLE
    assert len(model.requests) == 2


def test_a_line_that_cannot_be_read_leaves_its_part_open() -> None:
    decision, _ = judged(GOOD.replace("one date; yes 90%", "perhaps"))
    assert decision.probabilities["clear"] == 0.5
    assert decision.good


def test_scores_have_levels() -> None:
    text = "Fit: yes, 90\nSelf contained: yes\nContent: yes\nClarity: 3\nDepth: 2\nStructure: 4\nRelevance: 1 or 3"
    decision, _ = judged(text, step="chunk", topic="Mill", passage=ASKED["passage"])
    assert decision.levels == {"clarity": 2.0, "depth": 1.0, "structure": 1.0, "relevance": 2.0}


@given(st.text())
def test_nothing_that_is_written_is_an_error(text: str) -> None:
    questions = {"fit": {"type": "noul", "instructions": "?"}, "depth": {"type": "score", "criteria": ["a", "b"]}}
    for found in parse_verdicts(text, questions).values():
        assert 0 <= found.get("noul", 0) <= 1
