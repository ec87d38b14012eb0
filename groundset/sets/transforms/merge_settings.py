"""What several runs were made with, as one record: what they share, and None where they differ."""

from collections.abc import Mapping, Sequence
from typing import Any

from groundset.engine.config import RunConfig, make_config

_CUTS = ("chunker", "chunk_size", "chunk_overlap", "merge", "min_length")


def joined_settings(settings: Sequence[Mapping[str, Any]], documents: int, chunks: int) -> dict[str, Any]:
    """Return the settings of a run that several come to.

    ``configuration`` holds all documents. Without a ``chunker`` the chunks were not all cut in one way. ``compiled``
    keeps what a critic promises only where it decided on all questions.

    Args:
        settings: those of each run; see :class:`groundset.run.Run`.
        documents, chunks: how many there are now.
    """
    models = [each["models"] for each in settings]
    compiled = [each["compiled"] for each in settings]
    counts = [each["corpus"] or {} for each in _read_once(settings)]
    return {
        "configuration": _configuration([each["configuration"] for each in settings]),
        "models": {
            # Not every run has a second language model, which judges.
            **{
                role: _one([each[role] for each in models if role in each])
                for role in dict.fromkeys(role for each in models for role in each)
            },
            "embedder": models[0]["embedder"],  # the same weights, whatever each run calls them: it is loaded again
        },
        "compiled": _promises(compiled),
        "corpus": {
            **{name: sum(each.get(name, 0) for each in counts) for name in counts[0]},
            "documents": documents,
            "chunks": chunks,
        },
        "skipped": [file for each in _read_once(settings) for file in each["skipped"] or ()],
    }


def _read_once(settings: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the settings of runs that read other documents than those before, or found other things in them."""

    def told(each: Mapping[str, Any]) -> tuple[Any, ...]:
        sources = tuple(each["configuration"].get(name) for name in ("documents", "chunks"))
        return (*sources, each["corpus"], each["skipped"]) if any(sources) else (id(each),)

    return [each for place, each in enumerate(settings) if told(each) not in map(told, settings[:place])]


def _promises(compiled: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the compiled critics that all runs share; older runs did not note how many rows one was measured on."""
    found: dict[str, Any] = {}
    for step in compiled[0]:
        told = [each.get(step) or {} for each in compiled]
        if all(_without_rows(each) == _without_rows(told[0]) for each in told):
            found[step] = max(told, key=len)
    return found


def _without_rows(state: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in state.items() if name != "measured_on"}


def _one(models: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """Return a model that all share, else one that stands for several."""
    shared = _shared(models)
    return {**shared, "name": " and ".join(dict.fromkeys(model["name"] for model in models))}


def _shared(records: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the first record with None wherever another one differs from it."""
    first = records[0]
    return {name: value if all(each.get(name) == value for each in records) else None for name, value in first.items()}


def _configuration(told: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    joined = _shared(told)
    if any(each.get("recipe") != told[0].get("recipe") for each in told):
        # Options of a recipe mean nothing without it.
        joined |= dict.fromkeys(joined.keys() - RunConfig.model_fields.keys())
    cuts = {make_config(each).corpus_options() for each in told}
    own = list(dict.fromkeys(each["chunks"] for each in told if each.get("chunks")))
    documents = dict.fromkeys(path for each in told for path in each.get("documents") or ())
    # Own chunks of a second run are named among the documents, where they mean the same.
    joined |= {"documents": [*documents, *own[1:]], "chunks": own[0] if own else None}
    joined["embedder"] = told[0]["embedder"]  # the same weights, whatever each run calls them
    return joined if len(cuts) == 1 else joined | dict.fromkeys(_CUTS)
