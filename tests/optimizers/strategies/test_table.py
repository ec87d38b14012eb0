"""The table of strategies: its rows, and the steps that each one takes."""

from types import SimpleNamespace
from typing import Any

import pytest

from optimizers.steps import COMPILABLE
from optimizers.strategies import STRATEGIES

FITTED = ["chunk", "grounding", "judge", "same"]


def test_the_table_of_strategies_is_frozen() -> None:
    assert set(STRATEGIES) == {
        *("labeled", "random-search", "mipro", "gepa", "knn", "reanchor"),
        *("fit-head", "fit-ensemble", "finetune"),
    }
    with pytest.raises(AttributeError):
        STRATEGIES["labeled"].name = "other"  # type: ignore[misc]
    assert all(strategy.suits for strategy in STRATEGIES.values())


def with_demos(*steps: str) -> Any:
    """Labels that hold examples to show for these steps alone."""
    return SimpleNamespace(examples=lambda step: SimpleNamespace(demos={"train": ["row"] if step in steps else []}))


def test_a_strategy_takes_the_steps_that_it_suits() -> None:
    assert STRATEGIES["gepa"].steps_of(with_demos()) == [name for name in COMPILABLE if name != "sound"]
    assert STRATEGIES["labeled"].steps_of(with_demos("question", "answer")) == ["answer", "question"]
    assert STRATEGIES["knn"].steps_of(with_demos("question", "judge")) == ["question"]
    assert STRATEGIES["fit-head"].steps_of(with_demos()) == list(FITTED)
    assert STRATEGIES["reanchor"].steps_of(with_demos()) == ["agree", *FITTED]
    assert STRATEGIES["fit-ensemble"].steps_of(with_demos()) == ["judge"]
    assert set(STRATEGIES["finetune"].steps_of(with_demos())) == {
        *("pair", "ask", "answer", "open_answer", "sound", "keyphrases", "rewrite", "compress")
    }
