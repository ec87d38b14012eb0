"""Turn a folder of documents into a RAG evaluation set that a person would sign off.

Steps and recipes are DSPy programs: ``dspy.configure(lm=groundset.lm("qwen2.5-coder-0.5b"))``, then
``groundset.OneChunk()(passage=…, topic=…)``. Commands of the command line are functions with the
same options. Every name is imported on first access, so that ``import groundset`` is fast and
changes nothing in the process.
"""

from importlib import import_module
from typing import Any

__version__ = "0.3.0"

# The public names by module; ``metrics`` is a module itself.
_PUBLIC = {
    "groundset.api": (
        "Run align chunk compile export generate import_files judge lm open_run push report"
        " roundtrip"
    ),
    "groundset.labelling": "step",
    "groundset.optimizers": "metrics",
    "groundset.programs.chunks": "SeveralChunks",
    "groundset.programs.errors": (
        "AnswerError ChecksumError CompileError GroundsetError HubError InputError LabelError "
        "ModelError RunError StateError TrackingError UnknownModelError UnreachableModelError"
    ),
    "groundset.programs.given": "Given",
    "groundset.programs.guided": "Guided",
    "groundset.programs.onechunk": "OneChunk",
    "groundset.programs.staged": "Staged",
    "groundset.programs.types": "Chunk Document Reject Sample",
}
_HOMES = {name: module for module, names in _PUBLIC.items() for name in names.split()}
__all__ = ["__version__", *sorted(_HOMES)]


def __getattr__(name: str) -> Any:
    """Import a public name on first access."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = (
        import_module("groundset.optimizers.metrics")
        if name == "metrics"
        else getattr(import_module(_HOMES[name]), name)
    )
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Return the public names, imported or not."""
    return sorted({*globals(), *__all__})
