"""Fixtures for tests of compiles."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

# --import-mode=importlib does not put the folder of a test on the path.
sys.path.insert(0, str(Path(__file__).parent))

from recording_listener import RecordingListener

from groundset.compiling.compiler import compile_steps
from groundset.compiling.options import CompileOptions
from groundset.data_files import data_path
from optimizers.report import CompileReport


@pytest.fixture
def listener() -> RecordingListener:
    return RecordingListener()


@pytest.fixture
def shipped_sha256() -> str:
    """The hash of the embedder that the shipped heads were fitted with."""
    return json.loads(data_path("compiled", "head", "judge.json").read_text(encoding="utf-8"))["model_sha256"]


@pytest.fixture
def compiled(listener: RecordingListener, tmp_path: Path) -> Callable[..., Any]:
    """Compile steps as the command does, into ``out`` of the test's folder, and return reports and files."""

    def compile_with(*steps: str, sizes: dict[str, int] | None = None, **options: Any) -> Any:
        options = {"out": tmp_path / "out", "embedder": "words", **options}
        started = options.pop("started", lambda *_: None)
        return list(compile_steps(CompileOptions(steps=steps, **options), listener, started, **(sizes or {})))

    return compile_with


@pytest.fixture
def compile_answer(compiled: Callable[..., Any]) -> Callable[..., tuple[CompileReport, Path]]:
    """Compile the prompt of ``answer`` for a small model on few rows."""

    def compile_with(**options: Any) -> tuple[CompileReport, Path]:
        options = {"optimizer": "labeled", "lm": "tiny", "budget": 8, **options}
        [found] = compiled("answer", sizes={"dev": 4, "test": 4}, **options)
        return found

    return compile_with
