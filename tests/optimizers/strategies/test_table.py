"""The table of strategies: its rows, its modules, and the steps that each one takes."""

import pkgutil

import pytest

from optimizers import strategies
from optimizers.steps import COMPILABLE
from optimizers.strategies import STRATEGIES

FITTED = ["chunk", "judge", "same", "grounding"]


def test_each_strategy_is_one_module_of_its_name() -> None:
    modules = {module.name for module in pkgutil.iter_modules(strategies.__path__)}
    assert modules - {"base"} == {name.replace("-", "_") for name in STRATEGIES}


def test_the_table_of_strategies_is_frozen() -> None:
    assert list(STRATEGIES) == [
        "labeled",
        "random-search",
        "mipro",
        "gepa",
        "knn",
        "reanchor",
        "fit-head",
        "fit-ensemble",
        "finetune",
    ]
    with pytest.raises(AttributeError):
        STRATEGIES["labeled"].name = "other"  # type: ignore[misc]
    assert all(strategy.suits for strategy in STRATEGIES.values())


def test_a_strategy_takes_the_steps_that_it_suits() -> None:
    assert STRATEGIES["gepa"].steps_of([]) == [name for name in COMPILABLE if name != "sound"]
    assert STRATEGIES["labeled"].steps_of(["question", "answer"]) == ["question", "answer"]
    assert STRATEGIES["knn"].steps_of(["question", "judge"]) == ["question"]
    assert STRATEGIES["fit-head"].steps_of([]) == FITTED
    assert STRATEGIES["reanchor"].steps_of([]) == [*FITTED, "agree"]
    assert STRATEGIES["fit-ensemble"].steps_of([]) == ["judge"]
    assert set(STRATEGIES["finetune"].steps_of([])) == {
        *("pair", "ask", "answer", "open_answer", "sound", "keyphrases", "rewrite", "compress")
    }
