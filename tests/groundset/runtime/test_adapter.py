"""The plain-text adapter: static text first, and every completion parses."""

import asyncio
from types import SimpleNamespace
from typing import Annotated, Literal, get_origin
from unittest.mock import AsyncMock, Mock

import dspy
import pytest
from dspy.lm15 import Request
from hypothesis import given, settings
from hypothesis import strategies as st

from groundset.runtime.adapter import PlainTextAdapter
from programs.steps import STEPS
from signatures.keyphrases import ExtractKeyphrases
from signatures.question import AskQuestion

ADAPTER = PlainTextAdapter()
GENERATORS = {name: step.signature for name, step in STEPS.items() if not step.decides}
HOSTILE = [
    "",
    " \n\t\r\n ",
    "Fact: The bridge was opened in 1931.\nAnswer: 1931\nQuestion:",
    "the the " * 4000,
    "\x00\x07\x1b[31m\u200b\ufeff",
    "桥是什么时候建成的？",
    '```json\n{"question": null}\n```',
    "Question: Question: Question:",
    "\ud7ff\U0010ffff",
    "?" * 500,
]


class Several(dspy.Signature):
    """Fill every field."""

    passage: str = dspy.InputField()
    verdict: Literal["good", "bad"] = dspy.OutputField()
    sure: bool = dspy.OutputField()
    score: float = dspy.OutputField()
    reasons: list[str] = dspy.OutputField()
    note: Annotated[str, "free"] = dspy.OutputField()


@pytest.mark.parametrize("completion", HOSTILE)
@pytest.mark.parametrize("step", sorted(GENERATORS))
def test_hostile_completion_gives_every_field_its_type(step: str, completion: str) -> None:
    signature = GENERATORS[step]
    values = ADAPTER.parse(signature, completion)
    assert values.keys() == signature.output_fields.keys()
    for name, field in signature.output_fields.items():
        assert isinstance(values[name], list if get_origin(field.annotation) is list else str)


@settings(max_examples=200, deadline=None)
@given(st.text())
def test_arbitrary_text_gives_every_field_its_type(completion: str) -> None:
    values = ADAPTER.parse(Several, completion)
    assert values["verdict"] in ("good", "bad")
    assert type(values["sure"]) is bool
    assert type(values["score"]) is float
    assert all(isinstance(item, str) and item for item in values["reasons"])
    assert isinstance(values["note"], str)


def test_labelled_lines_in_any_order_without_the_first_label() -> None:
    values = ADAPTER.parse(Several, "good\nReasons: short; clear\nScore: 0.75\nSure: yes\nNote: fine")
    assert values == {"verdict": "good", "sure": True, "score": 0.75, "reasons": ["short", "clear"], "note": "fine"}


@pytest.mark.parametrize(
    ("completion", "items"),
    [
        ("Maria Kolb; 1931; nine years", ["Maria Kolb", "1931", "nine years"]),
        ("1. Maria Kolb\n2. 1931\n- nine years", ["Maria Kolb", "1931", "nine years"]),
        ("Maria Kolb, 1931", ["Maria Kolb", "1931"]),
        ("41,300 tonnes; Moss Lane", ["41,300 tonnes", "Moss Lane"]),
        ("salt; Salt; SALT", ["salt"]),
    ],
)
def test_lists_of_lines_semicolons_or_commas(completion: str, items: list[str]) -> None:
    assert ADAPTER.parse(ExtractKeyphrases, completion)["keyphrases"] == items


def test_echoed_labels_and_quotes_are_dropped() -> None:
    assert ADAPTER.parse(AskQuestion, 'Question: "When was it?"')["question"] == "When was it?"


def test_static_text_precedes_the_variable_fields() -> None:
    lm = dspy.utils.DummyLM([{"question": "x"}])
    demo = {"topic": "T", "fact": "F.", "answer": "A", "question": "Q?"}
    inputs = {"fact": "G.", "answer": "B"}
    requests = [
        ADAPTER.request(lm, {"max_tokens": 9}, AskQuestion, [demo], {"topic": t, **inputs}) for t in ("one", "two")
    ]
    first, second = requests
    assert first.system == second.system
    assert "JSON" not in str(first.system)
    assert first.messages[:-1] == second.messages[:-1]
    assert first.messages[-1].text == "Topic: one\nFact: G.\nAnswer: B"
    assert first.config.max_tokens == 9


def test_empty_inputs_are_omitted() -> None:
    text = ADAPTER.format_inputs(AskQuestion, {"topic": "T", "fact": "F.", "answer": "A", "opening": ""})
    assert "Opening" not in text


def test_several_completions_have_different_seeds() -> None:
    requests: list[Request] = []

    def answer(request: Request) -> SimpleNamespace:
        requests.append(request)
        return SimpleNamespace(message=SimpleNamespace(text="Why?"))

    lm = Mock(side_effect=answer, acall=AsyncMock(side_effect=answer), model="local/x", kwargs={})
    call = (lm, {"seed": 7, "n": 3}, AskQuestion, [], {"topic": "T"})
    assert ADAPTER(*call) == asyncio.run(ADAPTER.acall(*call)) == [{"question": "Why?"}] * 3
    assert [request.config.seed for request in requests] == [7, 8, 9] * 2
    ADAPTER(lm, {"seed": 7}, *call[2:])
    assert requests[-1] == requests[0]
