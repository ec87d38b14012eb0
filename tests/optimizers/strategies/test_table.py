"""The table of strategies, and the steps that each one supports."""

from types import SimpleNamespace
from typing import Any

import pytest

from optimizers.steps import COMPILABLE
from optimizers.strategies import STRATEGIES

FITTED = ["chunk", "grounding", "judge", "same"]


@pytest.mark.parametrize("name", STRATEGIES)
def test_strategy_names_its_use_and_supports_steps(name: str) -> None:
    strategy = STRATEGIES[name]
    assert strategy.name == name
    assert strategy.suits
    assert strategy.known_steps()


def with_demos(*steps: str) -> Any:
    """Resources with demos for these steps only."""
    return SimpleNamespace(examples=lambda step: SimpleNamespace(demos={"train": ["row"] if step in steps else []}))


def test_steps_of_strategies() -> None:
    assert STRATEGIES["gepa"].steps_of(with_demos()) == [name for name in COMPILABLE if name != "sound"]
    assert STRATEGIES["labeled"].steps_of(with_demos("question", "answer")) == ["answer", "question"]
    assert STRATEGIES["knn"].steps_of(with_demos("question", "judge")) == ["question"]
    assert STRATEGIES["fit-head"].steps_of(with_demos()) == list(FITTED)
    assert STRATEGIES["reanchor"].steps_of(with_demos()) == sorted(
        ["agree", "fits", "panel", "premise", "relevance", "resolve", *FITTED]
    )
    assert STRATEGIES["fit-ensemble"].steps_of(with_demos()) == ["judge"]
    assert set(STRATEGIES["finetune"].steps_of(with_demos())) == {
        *("pair", "ask", "answer", "open_answer", "sound", "keyphrases", "rewrite", "compress"),
        *("follow_up", "unanswerable"),
    }
