"""The verdicts of reviewers: reasons, order of review, shares signed, agreement, and `groundset
labels from`.
"""

import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Annotated, Any

from pydantic import StringConstraints

from groundset.files import check_target, is_stream, write_rows
from groundset.options import Options, option
from groundset.pages.report import Figures, share
from groundset.printing import counted, say
from groundset.programs.checks import evidence_in
from groundset.programs.errors import InputError
from groundset.programs.forms import MULTI, SIMPLE, UNANSWERABLE
from groundset.programs.languages import LANGUAGES
from groundset.programs.stats import kappa
from groundset.programs.text import MAX_READ, one_line, plain, text_id
from groundset.programs.types import Chunk, Sample
from groundset.retrieval.index import round_trip
from groundset.rows import named_rows, optional, required
from groundset.run.record import latest_reviews, listed
from groundset.run.run import Run, open_run
from groundset.run.store import Review

# Name in labels, label, and meaning of each reason for refusing a sample.
REASONS = {
    "context_reference": (
        "points at the passage",
        "It speaks of “the text”, or of what only the text shows.",
    ),
    "vague": ("vague", "Without the passage, it is unclear who or what is meant."),
    "unanswerable": ("not answered here", "The passage does not answer the question."),
    "wrong_premise": ("wrong premise", "The question assumes what the passage does not say."),
    "malformed": ("badly formed", "The question is not well formed in its language."),
    "conjoined": ("two in one", "The question asks several things at once."),
    "gives_away": ("gives its answer away", "The question contains its answer."),
    "incomplete": ("answer incomplete", "The question is good, but the answer is incomplete."),
    "unsupported": (
        "answer wrong",
        "The question is good, but the passage does not support the answer.",
    ),
    "other": ("other", "Anything else: say in the note what. Without a note it becomes no label."),
}
# The last review of each reviewer, by sample and reviewer.
Verdicts = Mapping[str, Mapping[str, Review]]
_WORDS: Mapping[str, Any] = {
    "signed": "signed",
    "good": "signed",
    "refused": "refused",
    "bad": "refused",
}
Reviewer = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=60)]
_ANSWER = ("incomplete", "unsupported")  # reasons against the answer; the question is good


def in_review_order(samples: Iterable[Sample]) -> list[Sample]:
    """Return samples in an order drawn at random that is the same for everyone.

    Who stops early has reviewed a random sample of the run, and two who do have reviewed the same
    samples.
    """
    return sorted(samples, key=lambda sample: hashlib.sha256(sample.id.encode()).digest())


def tallies(samples: Iterable[Sample], verdicts: Verdicts) -> dict[str, Figures | None]:
    """Return the share that each reviewer signed, in the order of their names."""
    given: dict[str, list[bool]] = defaultdict(list)
    for sample in samples:
        for reviewer, review in verdicts.get(sample.id, {}).items():
            given[reviewer].append(review.verdict == "signed")
    return {name: share(sum(each), len(each)) for name, each in sorted(given.items())}


def agreements(samples: Iterable[Sample], verdicts: Verdicts) -> list[dict[str, Any]]:
    """Return how often each pair of reviewers agrees on ``both`` of their samples; ``kappa`` is
    None if one of them gave only one verdict.
    """
    pairs: dict[tuple[str, str], list[Sequence[str]]] = defaultdict(list)
    for sample in samples:
        reviews = sorted(verdicts.get(sample.id, {}).items())
        for (one, first), (other, second) in combinations(reviews, 2):
            pairs[one, other].append((first.verdict, second.verdict))
    return [
        {
            "reviewers": names,
            "both": len(given),
            "same": sum(one == other for one, other in given),
            "kappa": kappa(*zip(*given, strict=True)),
        }
        for names, given in sorted(pairs.items())
    ]


def readings_of(sample: Sample, chunks: Mapping[str, Chunk]) -> dict[str, Mapping[str, Any]]:
    """Return what the judge read in which chunk for a user's own question that no passage answers,
    as far as is known; nothing if chunks were cut otherwise since.
    """
    read: dict[str, Mapping[str, Any]] = {each["chunk_id"]: each for each in sample.readings}
    return read if chunks.keys() >= {*read, *sample.ranking} else {}


def answered(
    sample: Sample,
    ticked: Sequence[str],
    answer: str,
    chunks: Mapping[str, Chunk],
    *,
    together: bool,
    reviewer: str,
) -> Sample:
    """Return a user's own question as a reviewer answers it: by each of the ticked passages, by all
    of them ``together``, or, if none is ticked, by no document.
    """
    groups = [(name,) for name in ticked] if together else [tuple(ticked)] if ticked else []
    contexts = [chunks[group[0]] for group in groups] or sample.contexts
    answer = answer if ticked else LANGUAGES[sample.language].unanswered
    quotes = [evidence_in(chunks[name].passage, sample.question, answer) for name in ticked]
    facts = {"answerable": bool(ticked), "answered_by": reviewer}
    ranking = [chunks[name] for name in sample.ranking]
    return sample.model_copy(
        update={
            "answer": answer,
            "evolution": (UNANSWERABLE, SIMPLE, MULTI)[min(len(groups), 2)],
            "contexts": tuple(contexts),
            "retrieval_gt": tuple(groups),
            "retrieval": round_trip(ranking, groups),
            "probability": None,
            "evidence": tuple(filter(None, quotes)),
            "metadata": sample.metadata | facts,
        }
    )


def verdicts_in(file: Path, run: Run, reviewer: str) -> list[Review]:
    """Return the verdicts on samples of a run in a file, such as `groundset judge` writes; rows
    without one are passed.

    Raises:
        InputError: the file cannot be read, or an id or a value is wrong; the message names its
            line.
    """
    known, found = {sample.id for sample in run.samples}, list[Review]()
    for where, fields in named_rows(file, "--verdicts"):
        given = optional(where, fields, "verdict")
        if given is None:
            continue
        name = required(where, fields, "id", "sample_id")
        if name not in known:
            raise InputError(f"{where}, column id: no sample {name} in {run.folder}")
        verdict = _WORDS.get(given.strip().casefold())
        if verdict is None:
            raise InputError(
                f"{where}, column verdict: {given!r:.60} is none of {', '.join(_WORDS)}"
            )
        said = fields.get("reasons") or fields.get("reason") or ""
        said = ", ".join(map(str, said)) if isinstance(said, list) else str(said)
        names = re.findall(r"[^,;\s]+", said) if verdict == "refused" else []
        note = optional(where, fields, "note") or ""
        if not names or not REASONS.keys() >= set(names):  # in words of one's own
            names, note = (["other"] if names else []), f"{said} {note}"
        found.append(
            Review(
                sample_id=name,
                reviewer=optional(where, fields, "reviewer") or reviewer,
                verdict=verdict,
                reasons=tuple(dict.fromkeys(names)),
                note=one_line(note),
            )
        )
    if not found:
        raise InputError(
            f"--verdicts {file}: no row has a verdict;"
            f" write {', '.join(_WORDS)} in a column `verdict`"
        )
    return found


class LabelsFromOptions(Options):
    """Make labels from the reviews of runs, for `groundset compile --labels`.

    A signed question is a good label, a refused one a bad label with its first reason; one whose
    answer alone was refused is good with a bad answer. A note is the explanation. Left out are
    samples on which reviewers disagree, refusals without a reason or a note, unanswerable
    questions, and questions over several documents.
    """

    runs: tuple[Path, ...] = option(..., "Folders of reviewed runs.", metavar="RUN", argument=True)
    out: Path = option(..., "The file of the labels; - is standard output.", metavar="FILE.jsonl")


def labels_from(options: LabelsFromOptions) -> None:
    """Write the labels and print how many there are.

    Raises:
        InputError: a folder holds no run, no review becomes a label, or the file cannot be written.
    """
    check_target(options.out)
    labels = [label for folder in options.runs for label in labels_of(open_run(folder))]
    rows = {label["id"]: label for label in labels if not isinstance(label, str)}
    left_out = Counter(label for label in labels if isinstance(label, str))
    reasons = listed(dict(left_out.most_common()))
    if not rows:
        named = ", ".join(map(str, options.runs))
        raise InputError(f"{named}: no label; {reasons or 'run `groundset review` first'}")
    write_rows(options.out, rows.values())
    good = sum(row["label"] == "good" for row in rows.values())
    counts = f"{counted(len(rows), 'label')}, {good} good" + (
        f"; left out: {reasons}" if reasons else ""
    )
    say(f"{counts}: {options.out}", err=is_stream(options.out))


def labels_of(run: Run) -> list[dict[str, Any] | str]:
    """Return the reviewed questions of a run as rows of question labels (see data/README.md), or
    why they become none.

    The split of a row is that of its document, which readers of labels derive from the name.
    """
    latest = latest_reviews(run.reviews)
    return [
        _label(run, each, list(latest[each.id].values()))
        for each in run.samples
        if each.id in latest
    ]


def _label(run: Run, sample: Sample, reviews: Sequence[Review]) -> dict[str, Any] | str:
    """Return the label of a sample, or why it has none."""
    paths = list(dict.fromkeys(chunk.path for chunk in sample.contexts))
    reasons = [_reason(review) for review in reviews]
    if not sample.retrieval_gt:
        return "unanswerable question"
    if len(paths) > 1:
        return "passages of several documents"
    if len({reason if reason == "ok" else "" for reason, _ in reasons}) > 1:
        return "reviewers disagree"
    (reason, answer), _ = Counter(reasons).most_common(1)[0]
    if not reason:
        return "refused without a reason"
    passage = "\n\n".join(plain(chunk.text[:MAX_READ]) for chunk in sample.contexts)
    said = "; ".join(dict.fromkeys(review.note for review in reviews if review.note))
    row: dict[str, Any] = {
        "id": f"review-{text_id(sample.question, passage)}",
        "document": Path(paths[0]).stem,
        "topic": plain(sample.contexts[0].topic),
        "passage": passage,
        "question": sample.question,
        "label": "good" if reason == "ok" else "bad",
        "reason": reason,
        "explanation": said,
        "origin": run.record["models"].get("lm", {}).get("name", "unknown"),
        "language": sample.language,
    }
    if answer and sample.answer.strip() and len({label for _, label in reasons}) == 1:
        row["answer"] = {"text": sample.answer, "label": answer}
    return row


def _reason(review: Review) -> tuple[str, str]:
    """Return the reason of a label for the question, empty if labels have none for it, and the
    label of the answer.
    """
    if review.verdict == "signed":
        return "ok", "correct"
    known = [reason for reason in REASONS if reason in review.reasons and reason != "other"]
    if question := next((reason for reason in known if reason not in _ANSWER), ""):
        return question, ""
    return ("ok", known[0]) if known else ("other" if review.note else "", "")
