"""Runs in, one run out."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from groundset.run import Run, save_run
from groundset.sets.ids import unused
from groundset.sets.ranks import with_ranks
from groundset.sets.transforms.merge_corpus import JoinedCorpus
from groundset.sets.transforms.merge_questions import without_repeats
from groundset.sets.transforms.merge_settings import joined_settings
from groundset.store.folder import check_free
from groundset.store.reviews import Review, readings, standing
from programs.errors import DamagedRunError, InputError
from programs.types import Chunk, Reject, Sample


def merge_runs(runs: Sequence[Path], out: Path) -> list[str]:
    """Write the run that several runs come to; return the lines that say what it is.

    Raises:
        InputError: there are fewer than two, or they do not go together; the message names the run.
        DamagedRunError: what a run holds is not what a run does.
    """
    check_free(out)
    if len({run.resolve() for run in runs}) < max(2, len(runs)):
        raise InputError("merge takes two runs or more, each once")
    contents = [Run.loaded(run) for run in runs]
    for run, content in zip(runs[1:], contents[1:], strict=True):
        one, other = (each.settings["models"]["embedder"] for each in (contents[0], content))
        if (one.get("sha256") or one["name"]) != (other.get("sha256") or other["name"]):
            raise InputError(
                f"{run} was embedded by {other['name']}, {runs[0]} by {one['name']}, so no search can rank both; make "
                "both with one --embedder (a set that was imported or exported can be imported again with another)"
            )
        if content.question_vectors.shape[1] != contents[0].question_vectors.shape[1]:
            raise DamagedRunError(f"the vectors of {run} and {runs[0]} differ in length: one of the runs is damaged")
    merged = merged_content(contents)
    repeated = sum(len(content.samples) for content in contents) - len(merged.samples)
    told = save_run(out, merged, merged.lineage("merge"))
    left_out = "1 question was" if repeated == 1 else f"{repeated} questions were"
    return [*told, *([f"{left_out} left out, as another one asks the same."] if repeated else [])]


class _Joined(NamedTuple):
    """What is there after some runs, repeated questions among it."""

    samples: list[Sample]
    rejects: list[Reject]
    reviews: list[Review]


def merged_content(contents: Sequence[Run]) -> Run:
    """Return what the contents of runs come to that one model embedded.

    Each sample says in its metadata which ``run`` it comes from. Reviews go with their samples and rejects.

    Raises:
        InputError: a document is cut in different ways.
    """
    corpus, joined = JoinedCorpus(), _Joined([], [], [])
    runs: list[str] = []
    for content in contents:
        run = unused(content.parents[0].name, runs)
        runs.append(run)
        _add(joined, content, run, corpus.add(content, run))
    # Parts of one set have the reviews of its rejects each.
    reviews = sorted(dict.fromkeys(joined.reviews), key=lambda review: review.read_at)
    vectors = np.concatenate([content.question_vectors for content in contents])
    kept, repeats = without_repeats(joined.samples, vectors, readings(standing(reviews)))
    documents, chunks = list(corpus.documents.values()), list(corpus.chunks.values())
    merged = Run.of(
        samples=joined.samples,
        question_vectors=vectors,
        chunks=chunks,
        chunk_vectors=corpus.vectors,
        documents=documents,
        settings=joined_settings([content.settings for content in contents], len(documents), len(chunks)),
        rejects=[*joined.rejects, *repeats],
        reviews=reviews,
        parents=tuple(parent for content in contents for parent in content.parents),
    )
    return with_ranks(merged.only(kept))


def _add(joined: _Joined, content: Run, run: str, became: dict[str, Chunk]) -> None:
    """Add the samples, rejects and reviews of a run, whose chunks have become others."""
    known = {sample.id: (sample.question, sample.answer) for sample in joined.samples}
    ids, taken = {}, set(known)
    for sample in content.samples:
        # The same question in two runs is one; its readers have all read it.
        same = known.get(sample.id) == (sample.question, sample.answer)
        ids[sample.id] = sample.id if same else unused(sample.id, taken)
        taken.add(ids[sample.id])
        joined.samples.append(_moved(sample, ids[sample.id], run, became))
    places = _add_rejects(joined.rejects, content.rejects, became)
    for review in content.reviews:
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


def _moved(sample: Sample, name: str, run: str, became: dict[str, Chunk]) -> Sample:
    groups = (dict.fromkeys(became[each].chunk_id for each in group) for group in sample.retrieval_gt)
    return sample.model_copy(
        update={
            "id": name,
            "contexts": tuple(became[chunk.chunk_id] for chunk in sample.contexts),
            "retrieval_gt": tuple(map(tuple, groups)),
            "metadata": {"run": run, **sample.metadata},
        }
    )
