"""Labels made from the reviews of runs."""

import hashlib
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from groundset.compiling.labels import label_files
from groundset.corpus.documents import document_name
from groundset.run import Run
from groundset.store.folder import check_distinct
from groundset.store.reviews import Review, latest_reviews
from optimizers.labels import ChunkLabel, Label, Split, parse_label, read_all, split_of
from programs.language_detection import language_of
from programs.text import plain, plain_passage
from programs.types import Chunk

_OK = "ok"
_ANSWER_REASONS = ("incomplete", "unsupported")  # reject the answer, not the question
# Why a review does not become a label.
_DISPUTED = "reviewers disagree"
_NO_REASON = "rejected without a reason"
_KNOWN = "already in the shipped labels"
_TWO_SPLITS = "documents of two splits"
_GONE = "no longer in the run"
_UNANSWERABLE = "unanswerable question"  # its passage must not answer it, unlike those of other questions
_INVALID = "reason or text not valid for labels"


class ReviewLabels(NamedTuple):
    """Labels made from reviews, and the counts of skipped reviews by reason."""

    labels: list[Label]
    left_out: Counter[str]


class _Subject(NamedTuple):
    """The subject of a verdict: a question with its passage, or only a passage.

    Its label has no ``kind``, which excludes it from measuring thresholds: all samples were accepted by the head.
    """

    question: str | None
    passage: str
    topic: str
    documents: tuple[str, ...]
    origin: str
    source: str

    @property
    def texts(self) -> tuple[str, str]:
        """Return question and passage, normalised for case and white space."""
        return _folded(self.question or ""), _folded(self.passage)


class _Verdict(NamedTuple):
    """The verdict of one reviewer: ``ok`` or a reason, and the answer with its label, if any."""

    subject: _Subject
    reason: str
    answer: tuple[str, str] | None = None


def labels_from(folders: Sequence[Path]) -> ReviewLabels:
    """Return a label for each reviewed question and passage of runs.

    Accepted items are good, with the reviewer's corrections. Rejected items are bad for the given reason, as is the old
    wording of a corrected question; a question of which only the answer was rejected is good. The split of a document
    is that of its shipped labels, if any, else it is derived from the name.

    Raises:
        InputError: a folder is not a run, or is named twice.
    """
    check_distinct(folders)
    left_out: Counter[str] = Counter()
    verdicts: dict[tuple[str, str], list[_Verdict]] = {}
    for folder in folders:
        for verdict in _verdicts_in(Run(folder), left_out):
            verdicts.setdefault(verdict.subject.texts, []).append(verdict)
    shipped = read_all(label_files(()))
    known = {_texts_of(label) for label in shipped}
    splits = {label.document: label.split for label in shipped}
    labels = []
    for texts, given in verdicts.items():
        label = _KNOWN if texts in known else _label(given, splits)
        if isinstance(label, str):
            left_out[label] += 1
        else:
            labels.append(label)
    return ReviewLabels(labels, left_out)


def _verdicts_in(run: Run, left_out: Counter[str]) -> Iterator[_Verdict]:
    """Yield the verdicts of a run's reviewers in order, and count skipped reviews."""
    reviews = latest_reviews(run.reviews)
    subjects = dict(_subjects(run, {(review.kind, review.item) for review in reviews}))
    unanswerable = {sample.id for sample in run.samples if not sample.answerable}
    for review in reviews:
        if review.kind == "sample" and review.item in unanswerable:
            left_out[_UNANSWERABLE] += 1
        elif (subject_and_answer := subjects.get((review.kind, review.item))) is None:
            left_out[_GONE] += 1
        elif review.verdict == "bad" and review.reason in (None, _OK):
            left_out[_NO_REASON] += 1
        else:
            yield from _verdicts_of(review, *subject_and_answer)


def _verdicts_of(review: Review, subject: _Subject, answer: str) -> Iterator[_Verdict]:
    is_corrected = subject.question is not None and review.question not in (None, subject.question)
    if review.verdict == "good":
        accepted = subject._replace(question=review.question, origin="written") if is_corrected else subject
        correct = answer if review.answer is None else review.answer
        yield _Verdict(accepted, _OK, (correct, "correct") if correct.strip() else None)
    if review.reason in _ANSWER_REASONS:
        if review.verdict == "bad":
            yield _Verdict(subject, _OK, (answer, review.reason) if answer.strip() else None)
    elif review.reason not in (None, _OK) and (review.verdict == "bad" or is_corrected):
        yield _Verdict(subject, review.reason)


def _subjects(run: Run, wanted: Collection[tuple[str, str]]) -> Iterator[tuple[tuple[str, str], tuple[_Subject, str]]]:
    """Yield the wanted samples and rejects of a run by kind and item, each with the reviewed answer.

    The answers of rejects are not reviewed.
    """
    model = ((run.settings["models"] or {}).get("lm") or {}).get("name", "unknown")

    def subject(question: str | None, chunks: Sequence[Chunk], source: str) -> _Subject:
        passage = plain_passage(chunk.text for chunk in chunks)
        # Not the id, which depends on text and folder: all versions of a document must be in one split.
        documents = tuple(dict.fromkeys(document_name(chunk.path) or chunk.doc_id for chunk in chunks))
        source = f"{source} of the run {run.folder.resolve().name}"
        return _Subject(question, passage, plain(chunks[0].topic), documents, model, source)

    for sample in run.samples:
        if ("sample", sample.id) in wanted:
            sampled = subject(sample.question, sample.contexts, f"Sample {sample.id}")
            yield ("sample", sample.id), (sampled, sample.answer)
    if not any(kind == "reject" for kind, _ in wanted):
        return
    chunks = {chunk.chunk_id: chunk for chunk in run.chunks}
    with run.opened() as store:
        attempts = {
            number: store.attempts.contexts(attempt)
            for number, attempt, _ in store.results.refused_questions()
            if attempt is not None and ("reject", str(number)) in wanted
        }
    for number, reject in enumerate(run.rejects, 1):
        if ("reject", str(number)) not in wanted:
            continue
        ids = attempts.get(number, (reject.chunk_id,))
        if all(name in chunks for name in ids):
            source = f"Reject {number} of step {reject.step}"
            yield ("reject", str(number)), (subject(reject.question, [chunks[name] for name in ids], source), "")


def _label(verdicts: Sequence[_Verdict], splits: Mapping[str, Split]) -> Label | str:
    """Return the label for the verdicts on one wording, or the reason why there is none."""
    subject, reasons = verdicts[0].subject, Counter(verdict.reason for verdict in verdicts)
    if reasons[_OK] and len(reasons) > 1:
        return _DISPUTED
    if len({splits.get(name) or split_of(name) for name in subject.documents}) > 1:
        return _TWO_SPLITS
    [(reason, _)] = reasons.most_common(1)
    digest = hashlib.sha256(f"{subject.question}\0{subject.passage}".encode()).hexdigest()
    row: dict[str, Any] = {
        "id": f"read-{digest[:16]}",
        "document": subject.documents[0],
        "topic": subject.topic,
        "label": "good" if reason == _OK else "bad",
        "reason": reason,
        "explanation": f"{subject.source}.",
        "language": language_of(subject.passage),
        "split": splits.get(subject.documents[0]),
    }
    if subject.question is None:
        row |= {"text": subject.passage}
    else:
        row |= {"question": subject.question, "passage": subject.passage, "origin": subject.origin}
    answers = [verdict.answer for verdict in verdicts if verdict.answer]
    if len({label for _, label in answers}) == 1:
        row["answer"] = dict(zip(("text", "label"), answers[-1], strict=True))
    label = parse_label(row)
    return _INVALID if isinstance(label, str) else label


def _texts_of(label: Label) -> tuple[str, str]:
    if isinstance(label, ChunkLabel):
        return "", _folded(plain(label.text))
    return _folded(label.question), _folded(plain(label.passage))


def _folded(text: str) -> str:
    return " ".join(text.split()).casefold()
