"""Labels from what people read: what readers of runs said of questions and passages, as rows to compile with."""

import hashlib
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from groundset.compiling.labels import label_files
from groundset.corpus.documents import document_name
from groundset.store.reviews import Review
from groundset.store.run_store import RunStore
from optimizers.labels import ChunkLabel, Label, Split, parse_label, read_all, split_of
from programs.errors import InputError
from programs.language import language_of
from programs.text import plain, plain_passage
from programs.types import Chunk

_OK = "ok"
_OF_ANSWERS = ("incomplete", "unsupported")  # reasons that call the answer bad, and so the question good
# Why something that was read does not become a label.
_DISPUTED = "on which readers disagree"
_NO_REASON = "refused without a reason"
_KNOWN = "among the labels that ship"
_TWO_SPLITS = "about documents of two splits"
_GONE = "no longer in the run"
_UNFIT = "with a reason or a text that labels do not take"


class OwnLabels(NamedTuple):
    """What was made of runs, and of how much that was read there is no label, by why."""

    labels: list[Label]
    left_out: Counter[str]


class _Subject(NamedTuple):
    """What a verdict is about: a question with its passage, or a passage alone, as critics see them.

    Its label gets no kind, so threshold and promise are not measured on it: samples are only what the head let pass.
    """

    question: str | None
    passage: str
    topic: str
    documents: tuple[str, ...]
    origin: str
    told: str

    @property
    def texts(self) -> tuple[str, str]:
        """Return question and passage so that those which differ in case and spaces alone are the same."""
        return _folded(self.question or ""), _folded(self.passage)


class _Said(NamedTuple):
    """What one reader said: ``ok`` or why it is bad, and the answer with what it was called."""

    subject: _Subject
    reason: str
    answer: tuple[str, str] | None = None


def labels_from(folders: Sequence[Path]) -> OwnLabels:
    """Return a label for each question and passage that readers of runs gave a verdict on.

    What was signed is good in the words in which it was signed. What was refused is bad for the reason that was given,
    and so is the old wording of a mended question; one whose answer alone was refused is good. A document has the
    split of its shipped labels, if it has any, else the one that its name gives.

    Raises:
        InputError: a folder holds no run, or is named twice.
    """
    if len({folder.resolve() for folder in folders}) < len(folders):
        raise InputError("a run is named twice; name every RUN once")
    left_out: Counter[str] = Counter()
    said: dict[tuple[str, str], list[_Said]] = {}
    for folder in folders:
        with RunStore.read(folder) as store:
            for each in _said_in(store, left_out):
                said.setdefault(each.subject.texts, []).append(each)
    shipped = read_all(label_files(()))
    known = {_texts_of(label) for label in shipped}
    splits = {label.document: label.split for label in shipped}
    labels = []
    for texts, found in said.items():
        label = _KNOWN if texts in known else _label(found, splits)
        if isinstance(label, str):
            left_out[label] += 1
        else:
            labels.append(label)
    return OwnLabels(labels, left_out)


def _said_in(store: RunStore, left_out: Counter[str]) -> Iterator[_Said]:
    """Yield what readers of a run said of each wording, in order."""
    standing = store.reviews.standing()
    read = dict(_read(store, {(review.kind, review.item) for review in standing}))
    for review in standing:
        if (found := read.get((review.kind, review.item))) is None:
            left_out[_GONE] += 1
        elif review.verdict == "bad" and review.reason in (None, _OK):
            left_out[_NO_REASON] += 1
        else:
            yield from _verdicts(review, *found)


def _verdicts(review: Review, subject: _Subject, answer: str) -> Iterator[_Said]:
    is_mended = subject.question is not None and review.question not in (None, subject.question)
    if review.verdict == "good":
        signed = subject._replace(question=review.question, origin="written") if is_mended else subject
        right = answer if review.answer is None else review.answer
        yield _Said(signed, _OK, (right, "correct") if right.strip() else None)
    if review.reason in _OF_ANSWERS:
        if review.verdict == "bad":
            yield _Said(subject, _OK, (answer, review.reason) if answer.strip() else None)
    elif review.reason not in (None, _OK) and (review.verdict == "bad" or is_mended):
        yield _Said(subject, review.reason)


def _read(
    store: RunStore, wanted: Collection[tuple[str, str]]
) -> Iterator[tuple[tuple[str, str], tuple[_Subject, str]]]:
    """Yield those samples and rejects of a run that are wanted, by kind and item, each with the answer that was shown.

    Nobody is asked to sign the answer of a reject, so it counts for none.
    """
    model = ((store.meta("models") or {}).get("lm") or {}).get("name", "unknown")

    def subject(question: str | None, chunks: Sequence[Chunk], told: str) -> _Subject:
        passage = plain_passage(chunk.text for chunk in chunks)
        # Not its id, which changes with its text and its folder: no version of a document may lie in another split.
        documents = tuple(dict.fromkeys(document_name(chunk.path) or chunk.doc_id for chunk in chunks))
        told = f"{told} of the run {store.folder.resolve().name}"
        return _Subject(question, passage, plain(chunks[0].topic), documents, model, told)

    for sample in store.results.samples():
        if ("sample", sample.id) in wanted:
            found = subject(sample.question, sample.contexts, f"Sample {sample.id}")
            yield ("sample", sample.id), (found, sample.answer)
    if not any(kind == "reject" for kind, _ in wanted):
        return
    chunks = {chunk.chunk_id: chunk for chunk in store.chunks()}
    attempts = {place: attempt for place, attempt, _ in store.results.refused_questions()}
    for place, reject in enumerate(store.results.rejects(), 1):
        if ("reject", str(place)) not in wanted:
            continue
        attempt = attempts.get(place)
        ids = (reject.chunk_id,) if attempt is None else store.attempts.contexts(attempt)
        if all(name in chunks for name in ids):
            told = f"Reject {place} of step {reject.step}"
            yield ("reject", str(place)), (subject(reject.question, [chunks[name] for name in ids], told), "")


def _label(said: Sequence[_Said], splits: Mapping[str, Split]) -> Label | str:
    """Return the label of one wording, or why it has none."""
    subject, reasons = said[0].subject, Counter(each.reason for each in said)
    if reasons[_OK] and len(reasons) > 1:
        return _DISPUTED
    if len({splits.get(name) or split_of(name) for name in subject.documents}) > 1:
        return _TWO_SPLITS
    [(reason, _)] = reasons.most_common(1)
    told = hashlib.sha256(f"{subject.question}\0{subject.passage}".encode()).hexdigest()
    row: dict[str, Any] = {
        "id": f"read-{told[:16]}",
        "document": subject.documents[0],
        "topic": subject.topic,
        "label": "good" if reason == _OK else "bad",
        "reason": reason,
        "explanation": f"{subject.told}.",
        "language": language_of(subject.passage),
        "split": splits.get(subject.documents[0]),
    }
    if subject.question is None:
        row |= {"text": subject.passage}
    else:
        row |= {
            "question": subject.question,
            "passage": subject.passage,
            "origin": subject.origin,
        }
    answers = [each.answer for each in said if each.answer]
    if len({label for _, label in answers}) == 1:
        row["answer"] = dict(zip(("text", "label"), answers[-1], strict=True))
    label = parse_label(row)
    return _UNFIT if isinstance(label, str) else label


def _texts_of(label: Label) -> tuple[str, str]:
    if isinstance(label, ChunkLabel):
        return "", _folded(plain(label.text))
    return _folded(label.question), _folded(plain(label.passage))


def _folded(text: str) -> str:
    return " ".join(text.split()).casefold()
