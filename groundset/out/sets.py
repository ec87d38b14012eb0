"""What goes out: the samples of one or several runs without what reviewers refused, and all chunks of the runs."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from groundset.options import DEFAULT_EMBEDDER
from programs.errors import InputError
from programs.types import Chunk, Document, Sample

if TYPE_CHECKING:
    import numpy as np

    from groundset.run.run import Run
    from groundset.run.store import Review


class Splits(NamedTuple):
    """The name of a split for every sample and every document, by id."""

    samples: Mapping[str, str]
    documents: Mapping[str, str]


class EvaluationSet(NamedTuple):
    """Samples with the corpus that answers them.

    Attributes:
        runs: the runs that they come from.
        samples: the samples, each id once.
        chunks: all chunks, also those that nothing is asked about.
        documents: the documents by their ids.
        splits: the split of each sample and of each document by its id; None if they are not split.
    """

    runs: Sequence["Run"]
    samples: Sequence[Sample]
    chunks: Sequence[Chunk]
    documents: Mapping[str, Document]
    splits: Splits | None = None

    def split_of(self, sample: Sample) -> str | None:
        """Return the split of a sample, if it has one."""
        return self.splits.samples[sample.id] if self.splits else None

    def vectors(self) -> "np.ndarray":
        """Return the embeddings of the chunks, a row for each.

        Raises:
            RunError: a run has none.
        """
        import numpy as np

        rows = {name: row for run in reversed(self.runs) for name, row in zip(run.chunks, run.vectors, strict=True)}
        return np.stack([rows[chunk.chunk_id] for chunk in self.chunks])

    def embedder(self) -> str:
        """Return the model that embedded the chunks.

        Raises:
            InputError: the runs were embedded by different models.
        """
        configurations = [run.record.get("configuration") or {} for run in self.runs]
        names = {str(each.get("embedder") or DEFAULT_EMBEDDER) for each in configurations}
        if len(names) > 1:
            raise InputError(f"the runs have different embedders ({', '.join(sorted(names))}); name them one by one")
        return names.pop()


def joined(runs: Sequence["Run"], *, signed: bool = False) -> EvaluationSet:
    """Join runs: the same documents and chunks are shared, and a sample that several runs hold is taken once.

    With ``signed``, only samples are taken that a reviewer signed and none refused.

    Raises:
        InputError: no sample is left, or the runs give the same id to different things; the message names both.
    """
    documents: dict[str, Document] = {}
    chunks: dict[str, Chunk] = {}
    samples: dict[str, Sample] = {}
    first: dict[tuple[str, str], tuple[object, Run]] = {}

    def is_new(kind: str, name: str, content: object, run: "Run") -> bool:
        known, other = first.setdefault((kind, name), (content, run))
        if known != content:
            raise InputError(
                f"{kind} {name} of {run.folder} is another one than in {other.folder}, so they cannot be joined; "
                "export each run by itself"
            )
        return other is run

    verdicts = verdicts_of(review for run in runs for review in run.reviews)

    def is_taken(sample: Sample) -> bool:
        given = verdicts.get(sample.id, set())
        return given == {"signed"} if signed else "refused" not in given

    for run in runs:
        documents |= {name: each for name, each in run.documents.items() if is_new("document", name, each.text, run)}
        chunks |= {
            name: chunk
            for name, chunk in run.chunks.items()
            if is_new("chunk", name, (chunk.doc_id, chunk.start, chunk.text), run)
        }
        found = [sample for sample in run.samples if is_taken(sample)]
        samples |= {each.id: each for each in found if is_new("sample", each.id, each.question, run)}
    if not samples:
        why = "no sample is signed; use `groundset review`" if signed else "there is no sample that nobody refused"
        raise InputError(f"{', '.join(str(run.folder) for run in runs)}: {why}")
    if unanswered := next((name for name, sample in samples.items() if not sample.answer.strip()), None):
        raise InputError(
            f"sample {unanswered} has no answer, which every format needs; leave such samples out with "
            "`run.filter(lambda sample: sample.answer).save(...)`"
        )
    return EvaluationSet(runs, list(samples.values()), list(chunks.values()), documents)


def verdicts_of(reviews: Iterable["Review"]) -> dict[str, set[str]]:
    """Return the last verdict of every reviewer, by sample."""
    latest = {(review.sample_id, review.reviewer): review.verdict for review in reviews}
    verdicts: dict[str, set[str]] = {}
    for (name, _), verdict in latest.items():
        verdicts.setdefault(name, set()).add(verdict)
    return verdicts


def question_row(sample: Sample, split: str | None) -> dict[str, Any]:
    """Return a sample as a row; the lists on its contexts have equal length."""
    return {
        "id": sample.id,
        "question": sample.question,
        "answer": sample.answer,
        "evolution": sample.evolution,
        "kind": kind_of(sample),
        "language": sample.language,
        "split": split,
        "contexts": [chunk.text for chunk in sample.contexts],
        "chunk_ids": [chunk.chunk_id for chunk in sample.contexts],
        "paths": [chunk.path for chunk in sample.contexts],
        "retrieval_gt": [list(group) for group in sample.retrieval_gt],
        "answerable": bool(sample.retrieval_gt),
        "conversation": conversation_of(sample),
        "rank": sample.retrieval.rank,
        "probability": sample.probability,
    }


def chunk_row(chunk: Chunk) -> dict[str, Any]:
    """Return a chunk as a row: ids, path, headings, offsets and text."""
    return chunk.model_dump(mode="json", exclude={"metadata"})


def kind_of(sample: Sample) -> str | None:
    """Return the kind of a question, if known."""
    kind = sample.metadata.get("kind")
    return None if kind is None else str(kind)


def other_answers(sample: Sample) -> list[str]:
    """Return the further reference answers of a sample, which imported sets can have."""
    found = sample.metadata.get("answer_variants")
    return [text for text in found if isinstance(text, str)] if isinstance(found, list) else []


def conversation_of(sample: Sample) -> list[dict[str, str]] | None:
    """Return the messages of a conversation, of which the question is the stand-alone form of the last; or None."""
    found = sample.metadata.get("conversation")
    try:  # imported samples may have any value here
        return [{key: str(message[key]) for key in ("role", "content")} for message in found or ()] or None
    except (TypeError, KeyError):
        return None


def relevant_ids(sample: Sample) -> list[str]:
    """Return the distinct ids of all groups of ``retrieval_gt``."""
    return list(dict.fromkeys(name for group in sample.retrieval_gt for name in group))
