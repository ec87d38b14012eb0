"""Turn a folder of documents into a RAG evaluation set with a small local language model.

The Python functions are ``generate``, ``open_run``, ``import_files``, ``merge``, ``compare``, ``chunk`` and ``judge``.
Each is imported on first access, so that ``import groundset`` is fast.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from groundset import privacy

if TYPE_CHECKING:
    from groundset.api import Chunks, Compared, chunk, compare, import_files, judge, merge, open_run
    from groundset.generating import generate
    from groundset.public_run import OpenedRun as Run
    from programs.errors import (
        ChecksumError,
        CriticError,
        DamagedModelError,
        DamagedRunError,
        DemoError,
        DocumentError,
        DownloadError,
        EngineError,
        ExecutorError,
        GroundsetError,
        HubError,
        InputError,
        LabelError,
        LeakError,
        ModelError,
        OptimizerError,
        PromotionError,
        RunError,
        RunMismatchError,
        StateError,
        StrategyError,
        TargetPrecisionError,
        TrackingError,
        UnknownModelError,
        UnreachableModelError,
        UnsuitableServerError,
        WeightsError,
    )
    from programs.types import Chunk, Document, Reject, Sample

__version__ = "0.1.0"

__all__ = [
    "ChecksumError",
    "Chunk",
    "Chunks",
    "Compared",
    "CriticError",
    "DamagedModelError",
    "DamagedRunError",
    "DemoError",
    "Document",
    "DocumentError",
    "DownloadError",
    "EngineError",
    "ExecutorError",
    "GroundsetError",
    "HubError",
    "InputError",
    "LabelError",
    "LeakError",
    "ModelError",
    "OptimizerError",
    "PromotionError",
    "Reject",
    "Run",
    "RunError",
    "RunMismatchError",
    "Sample",
    "StateError",
    "StrategyError",
    "TargetPrecisionError",
    "TrackingError",
    "UnknownModelError",
    "UnreachableModelError",
    "UnsuitableServerError",
    "WeightsError",
    "__version__",
    "chunk",
    "compare",
    "generate",
    "import_files",
    "judge",
    "merge",
    "open_run",
]

_HOMES = {
    **dict.fromkeys(
        ("Chunks", "Compared", "chunk", "compare", "import_files", "judge", "merge", "open_run"), "groundset.api"
    ),
    **dict.fromkeys(("Chunk", "Document", "Reject", "Sample"), "programs.types"),
    "generate": "groundset.generating",
    "Run": "groundset.public_run",
}

_CLASSES = {"Run": "OpenedRun"}  # public names that differ from those in their modules
privacy.set_defaults()


def __getattr__(name: str) -> Any:
    """Import a public name on first access; names that are not in ``_HOMES`` are error classes."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOMES.get(name, "programs.errors")), _CLASSES.get(name, name))
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Return the public names, imported or not."""
    return sorted({*globals(), *__all__})
