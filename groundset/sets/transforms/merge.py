"""Merge runs: documents, chunks, questions, rejects and reviews of several, each once."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from groundset.engine.config import RunConfig, make_config
from groundset.engine.duplicates import Duplicates, source_of
from groundset.run import Run, reject_sample, save_run, unused_id
from groundset.sets.measuring import with_ranks
from groundset.sets.transforms.merge_corpus import JoinedCorpus
from groundset.store.folder import check_free
from groundset.store.reviews import Consensus, Review, consensus_by_item, latest_reviews
from groundset.store.tables import Vectors
from programs.errors import DamagedRunError, InputError
from programs.types import Chunk, Reject, Sample

_CUTS = ("chunker", "chunk_size", "chunk_overlap", "merge", "min_length")
_ORDER = {"good": 0, "bad": 2}  # of what reviewers came to


def merge_runs(folders: Sequence[Path], out: Path) -> list[str]:
    """Write the run that several runs come to; return its summary.

    Raises:
        InputError: there are fewer than two, or they do not go together; the message names the run.
        DamagedRunError: a run is damaged.
    """
    check_free(out)
    if len({folder.resolve() for folder in folders}) < max(2, len(folders)):
        raise InputError("merge takes two runs or more, each once")
    runs = [Run.loaded(folder) for folder in folders]
    for folder, run in zip(folders[1:], runs[1:], strict=True):
        one, other = (merged.settings["models"]["embedder"] for merged in (runs[0], run))
        if (one.get("sha256") or one["name"]) != (other.get("sha256") or other["name"]):
            raise InputError(
                f"{folder} was embedded by {other['name']}, {folders[0]} by {one['name']}, so no search can rank both; "
                "make both with one --embedder (a set that was imported or exported can be imported again with another)"
            )
        if run.question_vectors.shape[1] != runs[0].question_vectors.shape[1]:
            raise DamagedRunError(
                f"the vectors of {folder} and {folders[0]} differ in length: one of the runs is damaged"
            )
    merged = merged_content(runs)
    repeated = sum(len(run.samples) for run in runs) - len(merged.samples)
    summary = save_run(out, merged, merged.lineage("merge"))
    left_out = "1 question was" if repeated == 1 else f"{repeated} questions were"
    return [*summary, *([f"{left_out} left out, as another one asks the same."] if repeated else [])]


class _Joined(NamedTuple):
    """Samples, rejects and reviews of the runs so far; questions may repeat."""

    samples: list[Sample]
    rejects: list[Reject]
    reviews: list[Review]


def merged_content(runs: Sequence[Run]) -> Run:
    """Merge loaded runs that one model embedded.

    Each sample says in its metadata which ``run`` it comes from. Reviews go with their samples and rejects.
    """
    corpus, joined = JoinedCorpus(), _Joined([], [], [])
    names: list[str] = []
    for run in runs:
        name = unused_id(run.parents[0].name, names)
        names.append(name)
        _add(joined, run, name, corpus.add(run, name))
    # Parts of one set have the reviews of its rejects each.
    reviews = sorted(dict.fromkeys(joined.reviews), key=lambda review: review.read_at)
    vectors = np.concatenate([run.question_vectors for run in runs])
    kept, repeats = without_repeats(joined.samples, vectors, consensus_by_item(latest_reviews(reviews)))
    documents, chunks = list(corpus.documents.values()), list(corpus.chunks.values())
    merged = Run.of(
        samples=joined.samples,
        question_vectors=vectors,
        chunks=chunks,
        chunk_vectors=corpus.vectors,
        documents=documents,
        settings=joined_settings([run.settings for run in runs], len(documents), len(chunks)),
        rejects=[*joined.rejects, *repeats],
        reviews=reviews,
        parents=tuple(parent for run in runs for parent in run.parents),
    )
    return with_ranks(merged.only(kept))


def _add(joined: _Joined, run: Run, name: str, became: dict[str, Chunk]) -> None:
    """Add the samples, rejects and reviews of a run; ``became`` maps its chunks to those of the merged run."""
    known = {sample.id: (sample.question, sample.answer) for sample in joined.samples}
    ids, taken = {}, set(known)
    for sample in run.samples:
        # The same question in two runs is one; its readers have all read it.
        same = known.get(sample.id) == (sample.question, sample.answer)
        ids[sample.id] = sample.id if same else unused_id(sample.id, taken)
        taken.add(ids[sample.id])
        joined.samples.append(_moved(sample, ids[sample.id], name, became))
    places = _add_rejects(joined.rejects, run.rejects, became)
    for review in run.reviews:
        item = (places if review.kind == "reject" else ids).get(review.item, review.item)
        joined.reviews.append(review.model_copy(update={"item": item}))


def _add_rejects(joined: list[Reject], rejects: Sequence[Reject], became: dict[str, Chunk]) -> dict[str, str]:
    """Add the rejects of a run; return the place of each by its place there.

    One that an earlier run has too is kept once: parts of one set each have all of its rejects.
    """
    known = {reject: place for place, reject in enumerate(joined, 1)}
    places = {}
    for number, reject in enumerate(rejects, 1):
        chunk = became.get(reject.chunk_id)
        moved = reject.model_copy(update={"chunk_id": chunk.chunk_id}) if chunk else reject
        if moved not in known:
            joined.append(moved)
        places[str(number)] = str(known.get(moved, len(joined)))
    return places


def _moved(sample: Sample, new_id: str, run: str, became: dict[str, Chunk]) -> Sample:
    groups = (dict.fromkeys(became[name].chunk_id for name in group) for group in sample.retrieval_gt)
    return sample.model_copy(
        update={
            "id": new_id,
            "contexts": tuple(became[chunk.chunk_id] for chunk in sample.contexts),
            "retrieval_gt": tuple(map(tuple, groups)),
            "metadata": {"run": run, **sample.metadata},
        }
    )


def without_repeats(
    samples: Sequence[Sample], vectors: Vectors, consensus: Mapping[str, Consensus]
) -> tuple[list[int], list[Reject]]:
    """Return the places of the questions that are kept, in order, and the others as rejects.

    Of questions that repeat each other, one that reviewers signed is kept before one that nobody reviewed and one that
    they refused; then the one with the best probability; then the first. ``consensus`` is by the id of a sample.
    """
    known = dict(zip((sample.question for sample in samples), vectors, strict=True))
    duplicates = Duplicates(lambda questions: np.stack([known[question] for question in questions]))
    kept: list[int] = []
    rejects: list[Reject] = []
    for place in sorted(range(len(samples)), key=lambda place: _order(samples[place], consensus)):
        sample = samples[place]
        repeated = duplicates.find(sample.question, vectors[place], **source_of(sample))
        if repeated is None:
            duplicates.add(sample.question, vectors[place], **source_of(sample))
            kept.append(place)
            continue
        question, similarity = repeated
        reason = f"repeats an accepted question: {question!r} (similarity {similarity:.2f})"
        rejects.append(reject_sample(sample, "duplicate", reason))
    return sorted(kept), rejects


def _order(sample: Sample, consensus: Mapping[str, Consensus]) -> tuple[int, float]:
    verdict = consensus[sample.id].verdict if sample.id in consensus else ""
    return _ORDER.get(verdict, 1), -sample.probability


def joined_settings(settings: Sequence[Mapping[str, Any]], documents: int, chunks: int) -> dict[str, Any]:
    """Merge the settings of runs whose merged corpus has so many documents and chunks.

    ``configuration`` holds all documents. Without a ``chunker`` the chunks were not all cut in one way. ``compiled``
    keeps the estimates of a critic only where it decided on all questions.
    """
    models = [own["models"] for own in settings]
    read = _read_once(settings)
    counts = [own["corpus"] or {} for own in read]
    return {
        "configuration": _configuration([own["configuration"] for own in settings]),
        "models": {
            # Not every run has a second language model, which judges.
            **{
                role: _named_alike([run[role] for run in models if role in run])
                for role in dict.fromkeys(role for run in models for role in run)
            },
            "embedder": models[0]["embedder"],  # the same weights, whatever each run calls them: it is loaded again
        },
        "compiled": _shared_critics([own["compiled"] for own in settings]),
        "corpus": {
            **{name: sum(count.get(name, 0) for count in counts) for name in counts[0]},
            "documents": documents,
            "chunks": chunks,
        },
        "skipped": [file for own in read for file in own["skipped"] or ()],
    }


def _read_once(settings: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the settings of runs that read other documents than those before, or found other things in them."""

    def read(own: Mapping[str, Any]) -> tuple[Any, ...]:
        sources = tuple(own["configuration"].get(name) for name in ("documents", "chunks"))
        return (*sources, own["corpus"], own["skipped"]) if any(sources) else (id(own),)

    return [own for place, own in enumerate(settings) if read(own) not in map(read, settings[:place])]


def _shared_critics(compiled: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the compiled critics that all runs share; older runs did not note how many rows one was measured on."""
    found: dict[str, Any] = {}
    for step in compiled[0]:
        states = [run.get(step) or {} for run in compiled]
        if all({**state, "measured_on": 0} == {**states[0], "measured_on": 0} for state in states):
            found[step] = max(states, key=len)
    return found


def _named_alike(models: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """Return a model that all share, else one whose name holds those of all."""
    return {**_shared(models), "name": " and ".join(dict.fromkeys(model["name"] for model in models))}


def _shared(records: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the first record with None wherever another one differs from it."""
    first = records[0]
    return {
        name: value if all(record.get(name) == value for record in records) else None for name, value in first.items()
    }


def _configuration(configurations: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    joined = _shared(configurations)
    if any(own.get("recipe") != configurations[0].get("recipe") for own in configurations):
        # Options of a recipe mean nothing without it.
        joined |= dict.fromkeys(joined.keys() - RunConfig.model_fields.keys())
    cuts = {make_config(own).corpus_options() for own in configurations}
    chunks = list(dict.fromkeys(own["chunks"] for own in configurations if own.get("chunks")))
    documents = dict.fromkeys(path for own in configurations for path in own.get("documents") or ())
    # Own chunks of a second run are named among the documents, where they mean the same.
    joined |= {"documents": [*documents, *chunks[1:]], "chunks": chunks[0] if chunks else None}
    joined["embedder"] = configurations[0]["embedder"]  # the same weights, whatever each run calls them
    return joined if len(cuts) == 1 else joined | dict.fromkeys(_CUTS)
