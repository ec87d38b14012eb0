"""Samples do not depend on the number of workers, on the order in which attempts finish, or on interruptions."""

import random
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from scripted_run import ScriptedProgram, StoppingEngine, generate, scripted_recipe, write_documents

from programs.errors import EngineError
from programs.types import Attempt, Observer, Outcome

FILES = ("samples.jsonl", "rejects.jsonl")


def recipe() -> Any:
    """Return a recipe whose attempts take random times."""
    rng = random.Random()

    class Delayed(ScriptedProgram):
        def forward(self, *, attempt: Attempt, observer: Observer) -> Outcome:
            time.sleep(rng.random() * 0.01)
            return super().forward(attempt=attempt, observer=observer)

    return scripted_recipe(Delayed, calls=1)


@pytest.fixture(scope="module")
def docs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_documents(tmp_path_factory.mktemp("docs") / "docs", documents=30, paragraphs=5)


@pytest.fixture(scope="module")
def made(docs: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., list[str]]:
    def make(out: Path, **options: Any) -> list[str]:
        result = generate(docs, out, recipe=recipe(), mix={"simple": 0.7, "reasoning": 0.3}, **options)
        assert result.ending == "complete"
        return [(out / name).read_text() for name in FILES]

    return make


@pytest.fixture(scope="module")
def expected(made: Callable[..., list[str]], tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    return made(tmp_path_factory.mktemp("one") / "run", size=80)


@pytest.mark.parametrize("workers", [64, 256])
def test_any_number_of_workers_makes_the_same_samples(made, expected, tmp_path, workers):
    assert made(tmp_path / "run", size=80, workers=workers) == expected


@pytest.mark.parametrize("workers", [64])
def test_interrupted_runs_make_the_same_samples(docs, made, expected, tmp_path, workers):
    out = tmp_path / "run"
    for calls in (40, 15, 50):
        with suppress(EngineError):
            generate(
                docs, out, StoppingEngine(calls), recipe=recipe(), mix={"simple": 0.7, "reasoning": 0.3}, size=80,
                workers=workers,
            )  # fmt: skip
    assert made(out, size=80, workers=9) == expected
