"""`groundset.judge` with scripted critics."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import groundset
from groundset.engine import judging
from programs.deciding import Decision

ROW = {"question": "When?", "passage": "At nine.", "note": 1}


def decision(good: bool) -> Decision:
    probabilities = {"fit": 0.9 if good else 0.125, "clear": 0.8}
    return Decision(values={"fit": good}, probabilities=probabilities, levels={})


@pytest.fixture
def decided(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Replace the critics, and return the arguments that they were opened with."""
    opened: list[Any] = []

    @contextmanager
    def open_judge(*parts: Any, panel: bool) -> Iterator[Any]:
        opened.append(parts)
        yield lambda rows: [decision(row["question"] == "When?") for row in rows]

    monkeypatch.setattr(judging, "open_judge", open_judge)
    return opened


def test_judge_adds_probability_and_verdict(decided: list[Any], capsys: pytest.CaptureFixture[str]) -> None:
    given = [ROW, {**ROW, "question": "What?"}]
    judged = groundset.judge("questions", iter(given), quiet=True)
    assert judged == [
        {**ROW, "probability": 0.9, "verdict": "good", "scores": {"clear": 0.8}, "weakest": "clear"},
        {**given[1], "probability": 0.125, "verdict": "bad", "scores": {"clear": 0.8}, "weakest": "clear"},
    ]
    assert "verdict" not in ROW
    assert decided == [("questions", "head", None, "all-minilm-l6-v2", "shipped", None, None)]
    assert capsys.readouterr().err == ""
    assert groundset.judge("questions", []) == []


def test_invalid_rows_and_kinds_are_rejected(decided: list[Any]) -> None:
    with pytest.raises(groundset.InputError, match=r"^rows\[1\]: `passage` is missing, empty or not a text$"):
        groundset.judge("questions", [ROW, {"question": "When?"}])
    with pytest.raises(groundset.InputError, match=r"^rows\[0\]: `question` is longer than 1,000,000 characters$"):
        groundset.judge("questions", [{**ROW, "question": "When? " * 200_000}])
    with pytest.raises(groundset.InputError, match=r"^kind stories: choose chunks or questions$"):
        groundset.judge("stories", [ROW])
    assert decided == []


def test_judge_adds_reasons(monkeypatch: pytest.MonkeyPatch) -> None:
    @contextmanager
    def open_judge(*parts: Any, panel: bool) -> Iterator[Any]:
        yield lambda rows: [decision(True).model_copy(update={"reasons": {"clear": "one thing"}}) for _ in rows]

    monkeypatch.setattr(judging, "open_judge", open_judge)
    (judged,) = groundset.judge("questions", [ROW], critic="verdict", lm="x", quiet=True)
    assert judged["reasons"] == {"clear": "one thing"}


def test_lm_and_critic_lm_name_the_same_model(decided: list[Any]) -> None:
    for named in ({"lm": "a/b"}, {"critic_lm": "a/b"}, {"lm": "a/b", "critic_lm": "a/b"}):
        groundset.judge("questions", [ROW], critic="verdict", quiet=True, **named)
    assert {parts[2] for parts in decided} == {"a/b"}
    with pytest.raises(groundset.InputError, match=r"^lm a/b and critic_lm c/d: one language model judges"):
        groundset.judge("questions", [ROW], critic="lm", lm="a/b", critic_lm="c/d", quiet=True)
    with pytest.raises(groundset.InputError, match=r"^critic_lm a/b: the critic head asks no language model"):
        groundset.judge("questions", [ROW], critic_lm="a/b", quiet=True)


@pytest.mark.parametrize(
    ("critic", "message"),
    [
        ("lm", r"critic lm needs a language model \(lm\)$"),
        ("verdict", r"critic verdict needs a language model \(lm\)$"),
        ("oracle", "critic oracle: no such critic"),
    ],
)
def test_missing_model_and_unknown_critic_are_rejected(critic: str, message: str) -> None:
    with pytest.raises(groundset.InputError, match=f"^{message}"):
        groundset.judge("questions", [ROW], critic=critic, quiet=True)
