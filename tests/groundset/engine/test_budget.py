"""Runs with a budget of calls or tokens, and with a price."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from scripted_run import ScriptedEngine, generate, write_documents

from groundset.cost import Price
from groundset.engine.budget import Budget
from groundset.engine.config import choose_mode, make_config
from groundset.engine.forecast import MEASURED, forecast
from groundset.engine.generation import RunResult
from groundset.engine.stop import RunStoppedError, Stop
from groundset.run import Run
from programs.errors import InputError
from programs.modes import MODES
from programs.recipes import RECIPES

TOKENS = 13  # of a scripted call


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    return write_documents(tmp_path / "docs")


def record(result: RunResult) -> dict[str, Any]:
    fields: dict[str, Any] = json.loads(result.files.record.read_text())
    return fields


@pytest.mark.parametrize("workers", [1, 5])
def test_run_ends_at_its_budget_of_calls_and_a_larger_one_continues_it(docs, tmp_path, workers):
    whole = generate(docs, tmp_path / "whole")
    calls, out = record(whole)["calls"], tmp_path / "run"
    for budget in (7, 7, 12):
        ended = generate(docs, out, workers=workers, budget_calls=budget)
        assert (ended.ending, ended.signal, ended.has_ended) == ("budget", None, True)
        assert (record(ended)["status"], record(ended)["calls"]) == ("budget", budget)
    assert f"The budget (--budget-calls {budget}) ended the run." in ended.summary
    assert ended.summary[-1].startswith("To continue: the same command or call with a larger budget or none, or ")
    assert Run(out).record["reason"] == "The budget (--budget-calls 12) ended the run."
    assert "budget_calls" not in record(ended)["configuration"]
    last = generate(docs, out, budget_calls=calls + 100)
    assert last.ending == "complete"
    assert last.files.samples.read_text() == whole.files.samples.read_text()
    assert record(last)["identity"] == record(whole)["identity"]


def test_run_ends_after_its_budget_of_tokens(docs, tmp_path):
    ended = generate(docs, tmp_path / "run", budget_tokens=5 * TOKENS - 1)
    assert (ended.ending, record(ended)["calls"]) == ("budget", 5)
    assert "The budget (--budget-tokens 64) ended the run." in ended.summary
    assert generate(docs, tmp_path / "run").ending == "complete"


def test_a_run_that_needs_exactly_its_budget_is_complete(docs, tmp_path):
    calls = record(generate(docs, tmp_path / "whole"))["calls"]
    assert generate(docs, tmp_path / "run", budget_calls=calls).ending == "complete"


def test_stored_calls_are_free(docs, tmp_path):
    generate(docs, tmp_path / "run", budget_calls=10)
    engine = ScriptedEngine(tmp_path / "log")
    assert generate(docs, tmp_path / "run", engine, budget_calls=10).ending == "budget"
    assert not (tmp_path / "log").exists()


def test_budget_of_a_stopped_run_is_not_the_reason():
    stop = Stop()
    budget = Budget(stop, 1, None)
    budget.claim()
    stop.request()
    with pytest.raises(RunStoppedError):
        budget.claim()
    assert budget.ended_by is None


@pytest.mark.parametrize("options", [{"budget_calls": 0}, {"budget_tokens": -1}])
def test_a_budget_is_positive(docs, options):
    with pytest.raises(InputError, match=r"--budget-.* must be at least 1"):
        make_config({"documents": (docs,), **options})


@pytest.mark.parametrize("price", ["", "1", "1,2,3", "a,b", "-1,2", "nan,1", "1,inf"])
def test_a_wrong_price_is_refused(docs, price):
    with pytest.raises(InputError, match=r"--price .*two numbers, such as 0\.5,1\.5"):
        make_config({"documents": (docs,), "price": price})


def test_cost_is_recorded_and_summarised(docs, tmp_path):
    made = generate(docs, tmp_path / "run")
    assert record(made)["cost"] is None
    priced = generate(docs, tmp_path / "run", price="1000,2000.5")
    calls = record(priced)["calls"]
    total = calls * (10 * 1000 + 3 * 2000.5) / 10**6
    assert record(priced)["cost"] == {
        "price": {"prompt": 1000.0, "generated": 2000.5},
        "total": pytest.approx(total),
        "per_sample": pytest.approx(total / 8),
    }
    [line] = [line for line in priced.summary if line.startswith("Cost ")]
    assert line.endswith(" a sample, at 1000 and 2000.5 a million tokens.")
    assert record(generate(docs, tmp_path / "run"))["cost"] is not None, "the last price is kept"


def test_forecast_is_a_range_from_measured_runs(docs):
    chosen = choose_mode(make_config({"documents": (docs,), "lm": "openai/m@http://127.0.0.1:1/v1"}))
    line = forecast(chosen, 20, Price(1, 10))
    assert line is not None
    assert line.startswith("Expected for 20 samples: 150 to 510 calls, 110,000 to 330,000 prompt tokens, ")
    assert "a cost of 0.25 to 0.60" in line
    assert "cost" not in str(forecast(chosen, 1))
    assert forecast(chosen, 0) is None


@pytest.mark.parametrize("options", [{"panel": True}, {"critic": "head"}, {"mode": "sentence"}, {"answer_variants": 2}])
def test_what_was_not_measured_is_not_foreseen(docs, options):
    given = {"documents": (docs,), "lm": "openai/m@http://127.0.0.1:1/v1", **options}
    assert forecast(choose_mode(make_config(given)), 20) is None


def test_measured_recipes_and_their_source_exist():
    record = (Path(__file__).parents[3] / "docs/experiments/2026-11-26-recipes.md").read_text()
    numbers = set(re.findall(r"[\d,.]+\d", record))
    for (recipe, mode), runs in MEASURED.items():
        assert recipe in RECIPES
        assert mode in MODES
        for run in runs[recipe == "evolved" and mode == "free" :]:
            assert {f"{run.calls}", f"{run.prompt_tokens:,}", f"{run.completion_tokens:,}"} <= numbers
