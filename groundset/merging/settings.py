"""What several runs were made with, as one record: what they share, and None where they differ."""

from collections.abc import Mapping, Sequence
from typing import Any

from groundset.runs.config import RunConfig, make_config

_SEVERAL = "several"
_CUTS = ("chunker", "chunk_size", "chunk_overlap", "merge", "min_length")


def joined_settings(settings: Sequence[Mapping[str, Any]], documents: int, chunks: int) -> dict[str, Any]:
    """Return the settings of a run that several come to.

    ``configuration`` holds all documents. Without a ``chunker`` the chunks were not all cut in one way. ``compiled``
    keeps what a critic promises only where it decided on all questions.

    Args:
        settings: those of each run; see :class:`groundset.runs.derived.RunContent`.
        documents, chunks: how many there are now.
    """
    models = [each["models"] for each in settings]
    compiled = [each["compiled"] for each in settings]
    counts = [each["corpus"] or {} for each in settings]
    return {
        "configuration": _configuration([each["configuration"] for each in settings]),
        "models": {role: _one([each[role] for each in models]) for role in models[0]},
        "compiled": {
            step: told for step, told in compiled[0].items() if all(each.get(step) == told for each in compiled)
        },
        "corpus": {
            **{name: sum(each.get(name, 0) for each in counts) for name in counts[0]},
            "documents": documents,
            "chunks": chunks,
        },
        "skipped": [file for each in settings for file in each["skipped"] or ()],
    }


def _one(models: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """Return a model that all share, else one that stands for several."""
    first = models[0]
    if all(model == first for model in models):
        return first
    return {name: first[name] if all(m.get(name) == first[name] for m in models) else None for name in first} | {
        "name": " and ".join(dict.fromkeys(str(model["name"]) for model in models))
    }


def _configuration(told: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    first = told[0]
    same = {name for name in first if all(each.get(name) == first[name] for each in told)}
    if "recipe" not in same:
        same &= set(RunConfig.model_fields)  # another recipe's options mean nothing without it
    joined = {name: value if name in same else None for name, value in first.items()}
    cuts = {make_config(each).corpus_options() for each in told}
    own = list(dict.fromkeys(each["chunks"] for each in told if each.get("chunks")))
    documents = dict.fromkeys(path for each in told for path in each.get("documents") or ())
    # Own chunks of a second run are named among the documents, where they mean the same.
    joined |= {"documents": [*documents, *own[1:]], "chunks": own[0] if own else None}
    return joined if len(cuts) == 1 else joined | dict.fromkeys(_CUTS)
