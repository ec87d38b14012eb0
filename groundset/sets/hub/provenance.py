"""What of a run may be told to everybody: how it was made, and nothing of the machine that it was made on."""

import re
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from groundset.models.hub_names import PREFIX
from groundset.run import Run
from groundset.stats import wilson
from programs.types import Chunk

if TYPE_CHECKING:
    from groundset.run import Run


# What of run.json goes out; whatever comes to it later stays here until it is named.
_PUBLIC = (
    "accepted", "agenda", "alternatives", "asked", "attempts", "call_seconds", "calls", "chunks", "compiled",
    "completion_tokens", "configuration", "corpus", "counts", "critic", "critic_calls", "documents",
    "evaluated_tokens", "evolutions", "growth", "identity", "kinds", "models", "program", "prompt_tokens", "seconds",
    "started", "window",
)  # fmt: skip
# Of the configuration: files, folders and addresses. `models` names the models.
_PLACES = ("chunks", "compiled", "critic_lm", "documents", "embedder", "lm", "parser", "vector_store")
_ON_THIS_MACHINE = re.compile(r"[/\\~]|\.\.?[/\\]|[a-z]:[/\\]|[a-z][a-z0-9+.-]+://", re.IGNORECASE)


def public_record(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return what of ``run.json`` goes out: no paths, no names of documents, no addresses."""
    public = {name: record[name] for name in _PUBLIC if name in record}
    if configuration := public.get("configuration"):
        public["configuration"] = {name: value for name, value in configuration.items() if name not in _PLACES}
    if record.get("lineage"):
        public["lineage"] = _descent(record["lineage"])
    return {name: _named(value) for name, value in public.items()}


def _descent(lineage: Mapping[str, Any]) -> dict[str, Any]:
    """Return which command made a run of which others, without what folders and files are called."""
    parents = [
        {
            "identity": parent["identity"],
            "samples": parent["samples"],
            **({"lineage": _descent(parent["lineage"])} if parent.get("lineage") else {}),
        }
        for parent in lineage["parents"]
    ]
    return {"command": lineage["command"], "parents": parents}


def without_machine(run: Run) -> Run:
    """Return a set whose passages name files as they would on any machine; most do, but not all chunks are our own."""
    samples = [
        sample.model_copy(update={"contexts": tuple(_portable(chunk) for chunk in sample.contexts)})
        for sample in run.samples
    ]
    return run.replace(samples=samples, chunks=[_portable(chunk) for chunk in run.chunks])


def _portable(chunk: Chunk) -> Chunk:
    if not _ON_THIS_MACHINE.match(chunk.path):
        return chunk
    return chunk.model_copy(update={"path": _last(chunk.path)})


def _named(value: Any) -> Any:
    """Return a value in which a path has become the name of its file; a model such as ``owner/name`` is no path."""
    if isinstance(value, Mapping):
        return {name: _named(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_named(each) for each in value]
    if not isinstance(value, str):
        return value
    if _ON_THIS_MACHINE.match(value):
        return _last(value)
    # The name of a model of a merged run holds those of all.
    names = value.split(" and ")
    return " and ".join(_last(name) if _is_path(name) else name for name in names)


def _is_path(name: str) -> bool:
    if name.startswith(PREFIX):  # a file of the Hub: weights of this machine are called by their last name
        return False
    return bool(_ON_THIS_MACHINE.match(name)) or name.count("/") > 1 or name.lower().endswith(".gguf")


def _last(path: str) -> str:
    return re.split(r"[/\\]", path.rstrip("/\\"))[-1]


class Readers(NamedTuple):
    """How many samples of a run were read, and what became of them.

    ``share``, ``low`` and ``high`` are signed ones of 100 that were read, with the 95 % interval of Wilson.
    """

    read: int
    signed: int
    refused: int
    disputed: int
    share: int
    low: int
    high: int


def count_readers(run: "Run") -> Readers | None:
    """Return what the readers of a run's samples come to, None if nobody read one."""
    verdicts = Counter(run.consensus[sample.id].verdict for sample in run if sample.id in run.consensus)
    read = verdicts.total()
    signed = verdicts["good"]
    share = wilson(signed, read)
    if share is None:
        return None
    percent = (round(100 * part) for part in (share.value, share.low, share.high))
    return Readers(read, signed, verdicts["bad"], verdicts["disputed"], *percent)
