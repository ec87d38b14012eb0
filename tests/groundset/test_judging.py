from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import groundset
from groundset import judging

ROW = {"question": "When?", "passage": "At nine.", "note": 1}


@pytest.fixture
def decided(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Stand in for the critics, and tell what was opened."""
    opened: list[Any] = []

    @contextmanager
    def open_judge(*parts: Any) -> Iterator[Any]:
        opened.append(parts)
        yield lambda rows: [(0.9, True) if row["question"] == "When?" else (0.125, False) for row in rows]

    monkeypatch.setattr(judging, "open_judge", open_judge)
    return opened


def test_rows_come_back_with_a_probability_and_a_verdict(
    decided: list[Any], capsys: pytest.CaptureFixture[str]
) -> None:
    given = [ROW, {**ROW, "question": "What?"}]
    judged = groundset.judge("questions", iter(given), quiet=True)
    assert judged == [
        {**ROW, "probability": 0.9, "verdict": "good"},
        {**given[1], "probability": 0.125, "verdict": "bad"},
    ]
    assert "verdict" not in ROW
    assert decided == [("questions", "head", None, "all-minilm-l6-v2", "shipped")]
    assert capsys.readouterr().err == ""
    assert groundset.judge("questions", []) == []


def test_wrong_rows_and_options_are_named(decided: list[Any]) -> None:
    with pytest.raises(groundset.InputError, match=r"^rows\[1\]: `passage` is missing, empty or not a text$"):
        groundset.judge("questions", [ROW, {"question": "When?"}])
    with pytest.raises(groundset.InputError, match=r"^kind stories: choose chunks or questions$"):
        groundset.judge("stories", [ROW])
    assert decided == []


def test_a_critic_without_its_model_is_told_by_parameters() -> None:
    with pytest.raises(groundset.InputError, match=r"^critic lm needs a language model \(lm\)\.$"):
        groundset.judge("questions", [ROW], critic="lm", quiet=True)
