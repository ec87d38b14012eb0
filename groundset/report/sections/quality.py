"""How many of the questions are good: what is expected, and what readers said."""

from collections import Counter

import numpy as np

from groundset.progress import counted
from groundset.report import pictures
from groundset.report.blocks import Grid, PageSection, Picture, Stated
from groundset.report.facts import RunFacts
from groundset.report.shares import UNKNOWN, bounds, percent, stated_share, stated_spread
from groundset.store.promise import is_easy, promise_of

_EDGES = np.linspace(0, 1, 21)


def section(facts: RunFacts) -> PageSection:
    """Tell the share of good questions: what the critic promises and what readers found."""
    judge = (facts.meta["compiled"] or {}).get("judge", {})
    expected = expected_good(facts)
    readings = [facts.readings[sample.id] for sample in facts.samples if sample.id in facts.readings]
    verdicts = Counter(reading.verdict for reading in readings)
    read = verdicts.total()
    mended = sum(
        reading.verdict == "good" and (reading.question is not None or reading.answer is not None)
        for reading in readings
    )
    scores = np.array([sample.probability for sample in facts.samples])
    figures = [expected]
    if read:
        readers = counted(len(facts.readers), "reader")
        figures += [
            stated_share("Signed", verdicts["good"], read, "read sample",
                         f"by {readers}: what everybody who read it called good, mended or not"),
            stated_share("Mended", mended, verdicts["good"], "signed sample", "signed with another wording"),
            stated_share("Disputed", verdicts["disputed"], read, "read sample", "one reader signed, another did not"),
            stated_share("Read", read, len(facts.samples), "sample", "whoever reads some of them should draw these at "
                         "random, else the share signed says little of the others"),
        ]  # fmt: skip
    figures.append(stated_spread("Score", scores, "sample", "the probability of being good, as the critic sees it", 2))
    notes = []
    if expected.n:
        whose = "questions of runs that were read one by one" if "kinds" in judge else "labelled questions"
        notes.append(
            f"The expected share was measured on {whose}: of those that the critic "
            f"({judge.get('model', UNKNOWN)}, by {judge.get('optimizer', UNKNOWN)}) accepts at the threshold of "
            "this run, so many are good. Other documents and another language model may do better or worse; only "
            "reading tells."
        )
    if not read:
        notes.append("Nobody has read these questions; the command groundset review shows them one by one.")
    return PageSection(
        "quality", "How good it is", "What share of the questions a reader would sign.", figures=figures,
        pictures=[_scores(scores, judge.get("threshold"))] if len(scores) else [], tables=_by_kind(facts),
        notes=notes,
    )  # fmt: skip


def _by_kind(facts: RunFacts) -> list[Grid]:
    """Return what is expected of the questions by what they ask for, where that was measured."""
    expected = (facts.meta["compiled"] or {}).get("judge", {}).get("kinds", {})
    counts = Counter(sample.metadata.get("kind") for sample in facts.samples if is_easy(sample))
    rows = []
    for kind, told in expected.items():
        if number := counts[kind]:
            good = (percent(told["expected_good"]), bounds(*told["interval"]), f"{told['measured_on']:,}")
            rows.append((kind, f"{number:,}", *good))
    headings = ("asks for", "samples", "expected good", "95 % interval", "measured on")
    return [Grid("Those that were easy to ask, by what they ask for", headings, rows)] if rows else []


def expected_good(facts: RunFacts) -> Stated:
    """Return the share of good questions that the critic promises, with what it was measured on."""
    promise = promise_of(facts.meta["compiled"], facts.samples)
    if promise is None:
        return Stated(
            "Expected good", UNKNOWN, "", "", "nothing that was measured on labels says it of all these questions"
        )
    meaning = "what the threshold of the critic let through on labelled questions"
    if promise.of_runs:
        meaning = "what the threshold of the critic let through of questions of other runs, which were read"
    if promise.said_of < len(facts.samples):
        meaning += f"; said of the {promise.said_of:,} samples that were easy to ask, not of the others"
    rows = promise.measured_on
    if rows is None:
        n = "labelled questions; how many is not noted"
    else:
        n = f"{rows:,} questions of runs" if promise.of_runs else counted(rows, "labelled question")
    return Stated("Expected good", percent(promise.share), n, bounds(promise.low, promise.high), meaning)


def _scores(scores: np.ndarray, threshold: float | None) -> Picture:
    counts, _ = np.histogram(np.clip(scores, 0, 1), bins=_EDGES)
    rows = [
        (f"{low:.2f} to {high:.2f}", f"{count}")
        for low, high, count in zip(_EDGES, _EDGES[1:], counts, strict=False)
        if count
    ]
    limit = None if threshold is None else (threshold, f"needed: {threshold:.2f}")
    return Picture(
        "Scores of the critic",
        f"How many of {counted(len(scores), 'sample')} have which score, from 0 to 1.",
        pictures.histogram("scores", scores, _EDGES, "score", limit),
        Grid("", ("score", "samples"), rows),
    )
