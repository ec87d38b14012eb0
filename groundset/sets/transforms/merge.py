"""Merge runs: deduplicate their documents, chunks, questions, rejects and reviews."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from groundset.engine.config import RunConfig, make_config
from groundset.engine.duplicates import Duplicates, source_of
from groundset.progress import counted
from groundset.run import Run, reject_sample, save_run, unanswerable_note, unused_id
from groundset.sets.measuring import with_ranks
from groundset.sets.transforms.merge_corpus import MergedCorpus
from groundset.store.folder import check_distinct, check_free
from groundset.store.reviews import Consensus, Review, consensus_by_item, latest_reviews
from groundset.store.tables import Vectors
from programs.errors import DamagedRunError, InputError
from programs.types import Chunk, Reject, Sample

_CHUNKING_OPTIONS = ("chunker", "chunk_size", "chunk_overlap", "merge", "min_length")
_VERDICT_ORDER = {"good": 0, "bad": 2}


def merge_runs(folders: Sequence[Path], out: Path) -> list[str]:
    """Merge runs into a new run; return its summary.

    Raises:
        InputError: there are fewer than two runs, or they are incompatible; the message names the run.
        DamagedRunError: a run is damaged.
    """
    check_free(out)
    if len(folders) < 2:
        raise InputError("RUN: merge needs two or more runs")
    check_distinct(folders)
    runs = [Run.loaded(folder) for folder in folders]
    for folder, run in zip(folders[1:], runs[1:], strict=True):
        one, other = (merged.settings["models"]["embedder"] for merged in (runs[0], run))
        if (one.get("sha256") or one["name"]) != (other.get("sha256") or other["name"]):
            raise InputError(
                f"{folder} was embedded by {other['name']}, but {folders[0]} by {one['name']}; make both with the same "
                "--embedder (export a run and import it again to change its embedder)"
            )
        if run.question_vectors.shape[1] != runs[0].question_vectors.shape[1]:
            raise DamagedRunError(
                f"the vectors of {folder} and {folders[0]} differ in length: one of the runs is damaged"
            )
    merged = merged_content(runs)
    duplicates = sum(len(run.samples) for run in runs) - len(merged.samples)
    summary = save_run(out, merged, merged.lineage("merge"))
    left_out = [f"Left out {counted(duplicates, 'duplicate question')}."] if duplicates else []
    is_larger = any(len(run.chunks) < len(merged.chunks) for run in runs)
    return [*summary, *left_out, *(unanswerable_note(merged.samples) if is_larger else [])]


class _MergedItems(NamedTuple):
    """Samples, rejects and reviews of the runs so far, with duplicate questions."""

    samples: list[Sample]
    rejects: list[Reject]
    reviews: list[Review]


def merged_content(runs: Sequence[Run]) -> Run:
    """Merge loaded runs with the same embedder.

    The metadata of each sample names the ``run`` it comes from. Reviews follow their samples and rejects.
    """
    corpus, items = MergedCorpus(), _MergedItems([], [], [])
    names: list[str] = []
    for run in runs:
        name = unused_id(run.parents[0].name, names)
        names.append(name)
        _add(items, run, name, corpus.add(run, name))
    # Runs sampled from the same run repeat the reviews of its rejects.
    reviews = sorted(dict.fromkeys(items.reviews), key=lambda review: review.read_at)
    vectors = np.concatenate([run.question_vectors for run in runs])
    kept, duplicates = find_duplicates(items.samples, vectors, consensus_by_item(latest_reviews(reviews)))
    documents, chunks = list(corpus.documents.values()), list(corpus.chunks.values())
    merged = Run.of(
        samples=items.samples,
        question_vectors=vectors,
        chunks=chunks,
        chunk_vectors=corpus.vectors,
        documents=documents,
        settings=merged_settings([run.settings for run in runs], len(documents), len(chunks)),
        rejects=[*items.rejects, *duplicates],
        reviews=reviews,
        parents=tuple(parent for run in runs for parent in run.parents),
    )
    return with_ranks(merged.only(kept))


def _add(items: _MergedItems, run: Run, name: str, chunk_map: Mapping[str, Chunk]) -> None:
    """Add the samples, rejects and reviews of a run; ``chunk_map`` maps its chunk ids to chunks of the merged run."""
    known = {sample.id: (sample.question, sample.answer) for sample in items.samples}
    ids, taken = {}, set(known)
    for sample in run.samples:
        # The same question in two runs keeps its id, so that it gets the reviews of both.
        same = known.get(sample.id) == (sample.question, sample.answer)
        ids[sample.id] = sample.id if same else unused_id(sample.id, taken)
        taken.add(ids[sample.id])
        items.samples.append(_remapped(sample, ids[sample.id], name, chunk_map))
    positions = _add_rejects(items.rejects, run.rejects, chunk_map)
    for review in run.reviews:
        item = (positions if review.kind == "reject" else ids).get(review.item, review.item)
        items.reviews.append(review.model_copy(update={"item": item}))


def _add_rejects(merged: list[Reject], rejects: Sequence[Reject], chunk_map: Mapping[str, Chunk]) -> dict[str, str]:
    """Add the rejects of a run that are new; return a mapping from old to new positions."""
    known = {reject: position for position, reject in enumerate(merged, 1)}
    positions = {}
    for number, reject in enumerate(rejects, 1):
        chunk = chunk_map.get(reject.chunk_id)
        remapped = reject.model_copy(update={"chunk_id": chunk.chunk_id}) if chunk else reject
        if remapped not in known:
            merged.append(remapped)
        positions[str(number)] = str(known.get(remapped, len(merged)))
    return positions


def _remapped(sample: Sample, new_id: str, run: str, chunk_map: Mapping[str, Chunk]) -> Sample:
    groups = (dict.fromkeys(chunk_map[name].chunk_id for name in group) for group in sample.retrieval_gt)
    return sample.model_copy(
        update={
            "id": new_id,
            "contexts": tuple(chunk_map[chunk.chunk_id] for chunk in sample.contexts),
            "retrieval_gt": tuple(map(tuple, groups)),
            "metadata": {"run": run, **sample.metadata},
        }
    )


def find_duplicates(
    samples: Sequence[Sample], vectors: Vectors, consensus: Mapping[str, Consensus]
) -> tuple[list[int], list[Reject]]:
    """Return the indices of the samples to keep, and the duplicates as rejects.

    Of duplicate questions, signed ones are preferred to unreviewed ones, and these to refused ones; then the highest
    probability wins; then the first. ``consensus`` is by sample id.
    """
    known = dict(zip((sample.question for sample in samples), vectors, strict=True))
    duplicates = Duplicates(lambda questions: np.stack([known[question] for question in questions]))
    kept: list[int] = []
    rejects: list[Reject] = []
    for index in sorted(range(len(samples)), key=lambda index: _order(samples[index], consensus)):
        sample = samples[index]
        duplicate = duplicates.find(sample.question, vectors[index], **source_of(sample))
        if duplicate is None:
            duplicates.add(sample.question, vectors[index], **source_of(sample))
            kept.append(index)
            continue
        question, similarity = duplicate
        reason = f"repeats an accepted question: {question!r} (similarity {similarity:.2f})"
        rejects.append(reject_sample(sample, "duplicate", reason))
    return sorted(kept), rejects


def _order(sample: Sample, consensus: Mapping[str, Consensus]) -> tuple[int, float]:
    verdict = consensus[sample.id].verdict if sample.id in consensus else ""
    return _VERDICT_ORDER.get(verdict, 1), -sample.probability


def merged_settings(settings: Sequence[Mapping[str, Any]], documents: int, chunks: int) -> dict[str, Any]:
    """Merge the settings of runs; ``documents`` and ``chunks`` are the counts of the merged corpus.

    ``configuration`` lists all documents; its ``chunker`` is None if the runs were chunked differently. ``compiled``
    keeps a critic only if it judged all questions.
    """
    models = [run["models"] for run in settings]
    corpora = _distinct_corpora(settings)
    counts = [run["corpus"] or {} for run in corpora]
    return {
        "configuration": _configuration([run["configuration"] for run in settings]),
        "models": {
            # Not every run has every role.
            **{
                role: _merged_model([run[role] for run in models if role in run])
                for role in dict.fromkeys(role for run in models for role in run)
            },
            "embedder": models[0]["embedder"],  # the weights are the same under any name
        },
        "compiled": _shared_critics([run["compiled"] for run in settings]),
        "corpus": {
            **{name: sum(count.get(name, 0) for count in counts) for name in counts[0]},
            "documents": documents,
            "chunks": chunks,
        },
        "skipped": [file for run in corpora for file in run["skipped"] or ()],
    }


def _distinct_corpora(settings: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the settings of runs without those that read the same corpus as an earlier run."""

    def corpus_key(run: Mapping[str, Any]) -> tuple[Any, ...]:
        sources = tuple(run["configuration"].get(name) for name in ("documents", "chunks"))
        return (*sources, run["corpus"], run["skipped"]) if any(sources) else (id(run),)

    return [run for index, run in enumerate(settings) if corpus_key(run) not in map(corpus_key, settings[:index])]


def _shared_critics(compiled: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the compiled critics that all runs share; older runs lack ``measured_on``."""
    shared: dict[str, Any] = {}
    for step in compiled[0]:
        states = [run.get(step) or {} for run in compiled]
        if all({**state, "measured_on": 0} == {**states[0], "measured_on": 0} for state in states):
            shared[step] = max(states, key=len)
    return shared


def _merged_model(models: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """Return the shared fields of models, with their names joined by "and"."""
    return {**_shared(models), "name": " and ".join(dict.fromkeys(model["name"] for model in models))}


def _shared(records: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the first record, with None for values that differ between records."""
    first = records[0]
    return {
        name: value if all(record.get(name) == value for record in records) else None for name, value in first.items()
    }


def _configuration(configurations: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    merged = _shared(configurations)
    if any(run.get("recipe") != configurations[0].get("recipe") for run in configurations):
        # Recipe options have no meaning without the recipe.
        merged |= dict.fromkeys(merged.keys() - RunConfig.model_fields.keys())
    chunking = {make_config(run).corpus_options() for run in configurations}
    chunks = list(dict.fromkeys(run["chunks"] for run in configurations if run.get("chunks")))
    documents = dict.fromkeys(path for run in configurations for path in run.get("documents") or ())
    # `chunks` holds one file; further chunk files are valid as documents.
    merged |= {"documents": [*documents, *chunks[1:]], "chunks": chunks[0] if chunks else None}
    merged["embedder"] = configurations[0]["embedder"]  # the weights are the same under any name
    return merged if len(chunking) == 1 else merged | dict.fromkeys(_CHUNKING_OPTIONS)
