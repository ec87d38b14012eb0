"""Labels and gold rows to compile with: the files that ship, the user's own, and labels from reviews of runs."""

import hashlib
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from groundset.corpus.documents import document_name
from groundset.data_files import data_path
from groundset.files import write_rows
from groundset.run import Run
from groundset.store.reviews import Review, latest_reviews
from optimizers.gold import Decided, GoldRow, read_annotated
from optimizers.labels import (
    SPLITS,
    ChunkLabel,
    Label,
    QuestionLabel,
    Split,
    parse_label,
    read_all,
    split_of,
)
from optimizers.public_sets import PUBLIC_SETS
from optimizers.steps import FITTED, GOLD
from programs.errors import InputError
from programs.language_detection import language_of
from programs.languages import LANGUAGES
from programs.languages.table import Languages
from programs.text import plain, plain_passage
from programs.types import Chunk

_Row = TypeVar("_Row", bound=Label | GoldRow)
_OK = "ok"
_OF_ANSWERS = ("incomplete", "unsupported")  # reasons that call the answer bad, and so the question good
# Why a review does not become a label.
_DISPUTED = "on which readers disagree"
_NO_REASON = "refused without a reason"
_KNOWN = "among the labels that ship"
_TWO_SPLITS = "about documents of two splits"
_GONE = "no longer in the run"
_UNFIT = "with a reason or a text that labels do not take"
_SHIPPED: dict[Decided, tuple[str, ...]] = {fitting.labels: fitting.files for fitting in FITTED.values()}


def label_files(own: Sequence[Path], kind: Decided | None = None) -> list[Path]:
    """Return the shipped label files of a kind, or of chunks and questions, and the user's own."""
    names = _SHIPPED[kind] if kind else (*_SHIPPED[ChunkLabel], *_SHIPPED[QuestionLabel])
    shipped = [data_path(*name.split("/")) for name in names]
    read = {file.name for file in shipped}  # a shipped file that is named too is read once
    return [*shipped, *(file for file in own if file.name not in read)]


def gold_files() -> list[Path]:
    """Return the shipped files of gold rows, one for a kind, and of the chunks that only these are about."""
    files = (data_path("gold", f"{name}.jsonl") for name in (*GOLD, "chunks"))
    return [file for file in files if file.is_file()]  # of some kinds no rows are shipped


def own_files(named: Sequence[str], folder: Path, say: Callable[[str], object]) -> list[Path]:
    """Return the files that ``--labels`` names; ``SET:FILE`` is a public set, whose gold rows go to a file in a folder.

    Raises:
        InputError: there is no such file, or it is not in the form of its set, or none of its rows can be used.
    """
    files = []
    for name in named:
        set_name, colon, place = name.partition(":")
        public = PUBLIC_SETS.get(set_name) if colon else None
        file = Path(place if public else name).expanduser()
        if not file.is_file():
            sets = ", ".join(f"{known}:FILE" for known in PUBLIC_SETS)
            raise InputError(f"--labels {name}: no such file; name one of your own, or {sets}")
        if public is None:
            files.append(file)
            continue
        rows = [row.model_dump(exclude_defaults=True) for row in public.rows(file, Languages(LANGUAGES))]
        if not rows:
            raise InputError(f"--labels {name}: no question of it can be learned from")
        files.append(folder / f"{public.name}-{file.stem}.jsonl")
        folder.mkdir(parents=True, exist_ok=True)
        write_rows(files[-1], rows)
        say(f"{len(rows):,} gold rows of {name}: {files[-1]}")
    return files


class OwnLabels(NamedTuple):
    """Labels made from reviews, and the counts of reviews that gave none, by reason."""

    labels: list[Label]
    left_out: Counter[str]


class _Subject(NamedTuple):
    """The subject of a verdict: a question with its passage, or a passage alone, as critics see them.

    Its label gets no kind, so no threshold is measured on it: samples are only what the head let pass.
    """

    question: str | None
    passage: str
    topic: str
    documents: tuple[str, ...]
    origin: str
    source: str

    @property
    def texts(self) -> tuple[str, str]:
        """Return question and passage so that those which differ in case and spaces alone are the same."""
        return _folded(self.question or ""), _folded(self.passage)


class _Verdict(NamedTuple):
    """The verdict of one reviewer: ``ok`` or a reason, and the answer with its label."""

    subject: _Subject
    reason: str
    answer: tuple[str, str] | None = None


def labels_from(folders: Sequence[Path]) -> OwnLabels:
    """Return a label for each question and passage that reviewers of runs gave a verdict on.

    What was signed is good in the words in which it was signed. What was refused is bad for the reason that was given,
    and so is the old wording of a corrected question; one whose answer alone was refused is good. A document has the
    split of its shipped labels, if it has any, else the one that its name gives.

    Raises:
        InputError: a folder holds no run, or is named twice.
    """
    if len({folder.resolve() for folder in folders}) < len(folders):
        raise InputError("a run is named twice; name each RUN once")
    left_out: Counter[str] = Counter()
    verdicts: dict[tuple[str, str], list[_Verdict]] = {}
    for folder in folders:
        for verdict in _verdicts_in(Run(folder), left_out):
            verdicts.setdefault(verdict.subject.texts, []).append(verdict)
    shipped = read_all(label_files(()))
    known = {_texts_of(label) for label in shipped}
    splits = {label.document: label.split for label in shipped}
    labels = []
    for texts, found in verdicts.items():
        label = _KNOWN if texts in known else _label(found, splits)
        if isinstance(label, str):
            left_out[label] += 1
        else:
            labels.append(label)
    return OwnLabels(labels, left_out)


def _verdicts_in(run: Run, left_out: Counter[str]) -> Iterator[_Verdict]:
    """Yield the verdicts of reviewers of a run on each wording, in order."""
    reviews = latest_reviews(run.reviews)
    subjects = dict(_subjects(run, {(review.kind, review.item) for review in reviews}))
    for review in reviews:
        if (found := subjects.get((review.kind, review.item))) is None:
            left_out[_GONE] += 1
        elif review.verdict == "bad" and review.reason in (None, _OK):
            left_out[_NO_REASON] += 1
        else:
            yield from _verdicts_of(review, *found)


def _verdicts_of(review: Review, subject: _Subject, answer: str) -> Iterator[_Verdict]:
    is_mended = subject.question is not None and review.question not in (None, subject.question)
    if review.verdict == "good":
        signed = subject._replace(question=review.question, origin="written") if is_mended else subject
        right = answer if review.answer is None else review.answer
        yield _Verdict(signed, _OK, (right, "correct") if right.strip() else None)
    if review.reason in _OF_ANSWERS:
        if review.verdict == "bad":
            yield _Verdict(subject, _OK, (answer, review.reason) if answer.strip() else None)
    elif review.reason not in (None, _OK) and (review.verdict == "bad" or is_mended):
        yield _Verdict(subject, review.reason)


def _subjects(run: Run, wanted: Collection[tuple[str, str]]) -> Iterator[tuple[tuple[str, str], tuple[_Subject, str]]]:
    """Yield those samples and rejects of a run that are wanted, by kind and item, each with the answer that was shown.

    Nobody is asked to sign the answer of a reject, so it counts for none.
    """
    model = ((run.settings["models"] or {}).get("lm") or {}).get("name", "unknown")

    def subject(question: str | None, chunks: Sequence[Chunk], source: str) -> _Subject:
        passage = plain_passage(chunk.text for chunk in chunks)
        # Not its id, which changes with its text and its folder: no version of a document may lie in another split.
        documents = tuple(dict.fromkeys(document_name(chunk.path) or chunk.doc_id for chunk in chunks))
        source = f"{source} of the run {run.folder.resolve().name}"
        return _Subject(question, passage, plain(chunks[0].topic), documents, model, source)

    for sample in run.samples:
        if ("sample", sample.id) in wanted:
            found = subject(sample.question, sample.contexts, f"Sample {sample.id}")
            yield ("sample", sample.id), (found, sample.answer)
    if not any(kind == "reject" for kind, _ in wanted):
        return
    chunks = {chunk.chunk_id: chunk for chunk in run.chunks}
    with run.opened() as store:
        attempts = {
            place: store.attempts.contexts(attempt)
            for place, attempt, _ in store.results.refused_questions()
            if attempt is not None and ("reject", str(place)) in wanted
        }
    for place, reject in enumerate(run.rejects, 1):
        if ("reject", str(place)) not in wanted:
            continue
        ids = attempts.get(place, (reject.chunk_id,))
        if all(name in chunks for name in ids):
            source = f"Reject {place} of step {reject.step}"
            yield ("reject", str(place)), (subject(reject.question, [chunks[name] for name in ids], source), "")


def _label(verdicts: Sequence[_Verdict], splits: Mapping[str, Split]) -> Label | str:
    """Return the label of one wording, or why it has none."""
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
    return _UNFIT if isinstance(label, str) else label


def _texts_of(label: Label) -> tuple[str, str]:
    if isinstance(label, ChunkLabel):
        return "", _folded(plain(label.text))
    return _folded(label.question), _folded(plain(label.passage))


def _folded(text: str) -> str:
    return " ".join(text.split()).casefold()


def count_rows(files: Sequence[Path]) -> dict[str, Any]:
    """Return the counts of labels, None if there are none, and of the gold rows of each step in files.

    Raises:
        LabelError: a file cannot be read or breaks a rule.
    """
    rows = read_annotated(files)
    labels = [row for row in rows if not isinstance(row, GoldRow)]
    gold: dict[str, list[GoldRow]] = {}
    for row in rows:
        if isinstance(row, GoldRow):
            gold.setdefault(row.step, []).append(row)
    of_steps = {step: _gold_counts(of_step) for step, of_step in gold.items()}
    return {"labels": _label_counts(labels) if labels else None, "gold": of_steps}


def _label_counts(labels: Sequence[Label]) -> dict[str, Any]:
    """Return the counts of labels, where they were given twice of the first pass."""
    first = [label for label in labels if label.annotation_pass == 1]
    questions = [label for label in first if isinstance(label, QuestionLabel)]
    return {
        "rows": len(first),
        "documents": len({label.document for label in first}),
        "reasons": _counts(first, lambda label: label.reason),
        "languages": _counts(first, lambda label: label.language),
        "origins": _counts(questions, lambda label: label.origin),
        "answers": dict(Counter(label.answer.label for label in questions if label.answer).most_common()),
        "agreement": _agreement(labels),
    }


def _gold_counts(rows: Sequence[GoldRow]) -> dict[str, Any]:
    """Return the counts of the gold rows of a step."""
    return {
        "rows": len(rows),
        "documents": len({source for row in rows for source in row.sources}),
        "kinds": _counts(rows, lambda row: row.kind),
        "languages": _counts(rows, lambda row: row.language),
    }


def _counts(rows: Sequence[_Row], value: Callable[[_Row], str]) -> dict[str, dict[str, int]]:
    """Return for each value, the most frequent first, how many rows of each split and of all have it."""
    found = Counter((value(row), str(row.split)) for row in rows)
    totals = Counter(value(row) for row in rows)
    return {
        name: {**{split: found[name, split] for split in SPLITS}, "all": total} for name, total in totals.most_common()
    }


def _agreement(labels: Sequence[Label]) -> dict[str, float | None] | None:
    """Return the number of rows labelled twice and the agreement of both passes, None if there are none."""
    passes = {(label.id, label.annotation_pass): label for label in labels}
    pairs = [(passes[name, 1], label) for (name, turn), label in passes.items() if turn == 2 and (name, 1) in passes]
    if not pairs:
        return None
    return {
        "rows": len(pairs),
        "verdicts": _kappa([one.label for one, _ in pairs], [two.label for _, two in pairs]),
        "reasons": _kappa([one.reason for one, _ in pairs], [two.reason for _, two in pairs]),
    }


def _kappa(first: Sequence[str], second: Sequence[str]) -> float | None:
    """Return Cohen's kappa, None where all annotations are the same and it is not defined."""
    from sklearn.metrics import cohen_kappa_score

    return float(cohen_kappa_score(first, second)) if len({*first, *second}) > 1 else None
