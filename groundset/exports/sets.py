"""What goes out: the samples of one or several runs without what reviewers refused, all chunks of
the runs, and splits.

Splits are without leakage: what shares a document, or asks the same again, is never separated.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Annotated, NamedTuple

from pydantic import AfterValidator, BeforeValidator

from groundset.options import Options, option
from groundset.programs.errors import InputError
from groundset.programs.text import tokens
from groundset.programs.types import Chunk, Document, Sample
from groundset.run.record import verdicts_of
from groundset.run.run import Run
from groundset.run.values import parse_mix

# `datasets` reads "all" as every split; some formats name files so.
_NAME = re.compile(r"(?!all\b)\w{1,60}", re.ASCII)
_Name = tuple[str, str]  # of a document or a question


def _checked(shares: dict[str, float]) -> dict[str, float]:
    """Check the shares of splits.

    Raises:
        ValueError: a name cannot be that of a split, or the shares do not add up to 1.
    """
    wrong = [name for name in shares if not _NAME.fullmatch(name)]
    if wrong:
        raise ValueError(f"{wrong[0]!r} cannot be the name of a split; use letters, digits and _")
    if not abs(sum(shares.values()) - 1) < 1e-6 or min(shares.values()) <= 0:
        raise ValueError(
            "write each split with its share, such as train=0.8,test=0.2; they must add up to 1"
        )
    return shares


Shares = Annotated[dict[str, float], BeforeValidator(parse_mix), AfterValidator(_checked)]


class SetOptions(Options):
    """Which samples of a run go out."""

    splits: Shares | None = option(
        None,
        "Shares of splits, such as train=0.8,test=0.2; a document is never in two.",
        metavar="NAME=SHARE,...",
    )
    signed: bool = option(False, "Only samples that a reviewer signed and none refused.")


class EvaluationSet(NamedTuple):
    """Samples with the corpus that answers them."""

    runs: Sequence[Run]  # that they come from
    samples: Sequence[Sample]  # each id once
    chunks: Sequence[Chunk]  # all, also those that nothing is asked about
    documents: Mapping[str, Document]  # by their ids
    splits: Mapping[str, str] | None = None  # by the ids of samples; None if they are not split

    def split_of(self, sample: Sample) -> str | None:
        """Return the split of a sample, if it has one."""
        return self.splits[sample.id] if self.splits else None


def joined(
    runs: Sequence[Run], *, signed: bool = False, shares: Mapping[str, float] | None = None
) -> EvaluationSet:
    """Join runs: the same documents and chunks are shared, and a sample that several runs hold is
    taken once.

    With ``signed``, only samples are taken that a reviewer signed and none refused; ``shares``
    split them.

    Raises:
        InputError: no sample is left, there are too few documents for the splits, or a run gives
            the id of another chunk or question to one of its own.
    """
    verdicts = verdicts_of(review for run in runs for review in run.reviews)
    refused = {
        _asked(sample)
        for run in runs
        for sample in run.samples
        if "refused" in verdicts.get(sample.id, ())
    }

    def is_taken(sample: Sample) -> bool:
        if given := verdicts.get(sample.id):
            return given == {"signed"} if signed else "refused" not in given
        return not signed and _asked(sample) not in refused

    documents: dict[str, Document] = {}
    chunks: dict[str, Chunk] = {}
    samples: dict[str, Sample] = {}
    # An import knows only some chunks of its documents: what another run has of them is whole.
    for run in sorted(runs, key=lambda run: isinstance(run.record.get("source"), Mapping)):
        for name, chunk in run.chunks.items():
            if (known := chunks.setdefault(name, chunk)).text != chunk.text:
                raise _conflict("chunk", name, run)
            documents.setdefault(known.doc_id, run.documents[chunk.doc_id])
        for sample in filter(is_taken, run.samples):
            contexts = tuple(chunks[chunk.chunk_id] for chunk in sample.contexts)
            taken = sample.model_copy(update={"contexts": contexts})
            if samples.setdefault(sample.id, taken).question != sample.question:
                raise _conflict("sample", sample.id, run)
    if not samples:
        why = (
            "no sample is signed; use `groundset review`"
            if signed
            else "there is no sample that nobody refused"
        )
        raise InputError(f"{', '.join(str(run.folder) for run in runs)}: {why}")
    if unanswered := [name for name, sample in samples.items() if not sample.answer.strip()]:
        raise InputError(
            f"sample {unanswered[0]} has no answer, which every format needs; leave such samples"
            " out with `run.filter(lambda sample: sample.answer).save(...)`"
        )
    splits = split(list(samples.values()), list(chunks.values()), shares) if shares else None
    return EvaluationSet(runs, list(samples.values()), list(chunks.values()), documents, splits)


def _conflict(kind: str, name: str, run: Run) -> InputError:
    return InputError(
        f"{kind} {name} of {run.folder} is another one than in a run before it, so they cannot be"
        " joined; export each run by itself"
    )


def _asked(sample: Sample) -> tuple[str, ...]:
    """Return the words of question and passages, for which a verdict holds wherever they stand."""
    return tuple(tokens(" ".join([sample.question, *(chunk.text for chunk in sample.contexts)])))


def relevant_ids(sample: Sample) -> list[str]:
    """Return the distinct ids of all groups of ``retrieval_gt``."""
    return list(dict.fromkeys(name for group in sample.retrieval_gt for name in group))


def split(
    samples: Sequence[Sample], chunks: Sequence[Chunk], shares: Mapping[str, float]
) -> dict[str, str]:
    """Return the split of each sample by its id, so that their numbers come near the shares.

    No document is in two splits. Documents that answer the same question stay together,
    alternatives counted: they also hold the answer. So do those that the same words ask about. The
    result depends on ids only, not on their order.

    Raises:
        InputError: there are fewer groups of documents than splits.
    """
    doc_ids = {chunk.chunk_id: chunk.doc_id for chunk in chunks}
    together: dict[_Name, set[_Name]] = {}  # what is linked to a document or a question
    for sample in samples:
        named = chain(*sample.retrieval_gt, (chunk.chunk_id for chunk in sample.contexts))
        linked = {("document", doc_ids[name]) for name in named} | {_question(sample)}
        linked.update(*(together.get(name, ()) for name in linked))
        together |= dict.fromkeys(linked, linked)
    of_sample = {sample.id: min(together[_question(sample)]) for sample in samples}
    sizes = Counter(of_sample.values())
    if len(sizes) < len(shares):
        raise InputError(
            f"--splits: the samples are about {len(sizes)} separate groups of documents (those that"
            f" share or repeat a question stay together), too few for {len(shares)} splits"
        )
    split_of = _spread(sizes, shares)
    return {name: split_of[first] for name, first in of_sample.items()}


def _question(sample: Sample) -> _Name:
    return "question", " ".join(tokens(sample.question))


def _spread(sizes: Mapping[_Name, int], shares: Mapping[str, float]) -> dict[_Name, str]:
    """Assign names to splits so that the sums of their sizes come near the shares.

    The largest goes first, to the split that lacks most; the smallest are left for splits that
    would stay empty.
    """
    lacking = {split: share * sum(sizes.values()) for split, share in shares.items()}
    split_of: dict[_Name, str] = {}
    names = sorted(
        sizes, key=lambda name: (-sizes[name], hashlib.sha256(name[1].encode()).digest())
    )
    for left, name in zip(range(len(names), 0, -1), names, strict=True):
        empty = lacking.keys() - split_of.values()
        wanted = empty if left <= len(empty) else lacking
        split = min(wanted, key=lambda split: (-lacking[split], split))
        lacking[split] -= sizes[name]
        split_of[name] = split
    return split_of
