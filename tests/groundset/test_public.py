"""Members and import cost of the package `groundset`."""

import inspect
import subprocess
import sys

import pytest

import groundset
from programs import errors

HEAVY = ("dspy", "torch", "transformers", "mlflow", "pandas", "numpy", "pydantic", "jinja2", "rich", "typer")


def test_exported_members() -> None:
    expected = [
        "ChecksumError", "Chunk", "Chunks", "Compared", "CriticError", "DamagedModelError", "DamagedRunError",
        "DemoError", "Document", "DocumentError", "DownloadError", "EngineError", "ExecutorError",
        "GroundsetError", "HubError", "InputError", "LabelError", "LeakError", "ModelError", "OptimizerError",
        "PromotionError", "Reject", "Run", "RunError", "RunMismatchError", "Sample", "StateError", "StrategyError",
        "TargetPrecisionError",
        "TrackingError", "UnknownModelError", "UnreachableModelError", "UnsuitableServerError", "WeightsError",
        "__version__", "chunk", "compare",
        "generate", "import_files", "judge", "merge", "open_run",
    ]  # fmt: skip
    assert groundset.__all__ == expected == sorted(expected)
    for name in expected:
        assert getattr(groundset, name).__doc__
    assert set(expected) <= set(dir(groundset))
    with pytest.raises(AttributeError, match="'groundset' has no attribute 'nothing'"):
        _ = groundset.nothing


def test_all_errors_are_public() -> None:
    raised = {
        error for error in vars(errors).values() if inspect.isclass(error) and issubclass(error, errors.GroundsetError)
    }
    assert {getattr(groundset, error.__name__) for error in raised} == raised


@pytest.mark.parametrize(
    ("expression", "allowed"),
    [
        ("", set()),
        ("groundset.InputError", set()),
        ("groundset.open_run", {"pydantic", "rich", "typer"}),
        ("groundset.chunk, groundset.judge", {"pydantic", "rich", "typer"}),
        ("groundset.compare", {"pydantic", "rich", "typer"}),
    ],
)
def test_import_loads_no_heavy_modules(expression: str, allowed: set[str]) -> None:
    script = f"import sys, groundset\n{expression}\nprint(*sorted(set(sys.modules) & set(sys.argv[1:])))"
    ran = subprocess.run([sys.executable, "-c", script, *HEAVY], capture_output=True, text=True, check=True, timeout=60)
    assert set(ran.stdout.split()) <= allowed
