"""How many of the questions are good: the quality estimate, and the reviews."""

from collections import Counter

import numpy as np

from groundset.progress import counted
from groundset.report.analysis import ReportSection, RunAnalysis
from groundset.report.charts import histogram_chart
from groundset.report.page import (
    UNKNOWN,
    Metric,
    PageSection,
    PageTable,
    bounds,
    median_metric,
    percent,
    share_metric,
)  # fmt: skip
from groundset.store.quality import estimate_quality, is_easy
from groundset.store.reviews import latest_reviews


def section(run: RunAnalysis) -> PageSection:
    """Show the share of good questions: what to expect by the critic, and what reviewers found."""
    judge, scores = run.judge, np.array([sample.probability for sample in run.samples])
    expected = _expected_good(run)
    reviews = _reviews(run)
    notes = []
    if expected.n:
        whose = "questions of runs that people reviewed one by one" if "kinds" in judge else "labelled questions"
        notes.append(
            f"The expected share was measured on {whose}: of those that the critic "
            f"({judge.get('model', UNKNOWN)}, by {judge.get('optimizer', UNKNOWN)}) accepts at the threshold of "
            "this run, so many are good. Other documents and another language model may do better or worse; only "
            "a review shows it."
        )
    if not reviews:
        notes.append("Nobody has reviewed these questions; the command groundset review shows them one by one.")
    drawn = []
    if len(scores):
        threshold = judge.get("threshold")
        drawn.append(
            histogram_chart(
                "scores",
                "Scores of the critic",
                f"How many of {counted(len(scores), 'sample')} have which score, from 0 to 1.",
                scores,
                "score",
                ("score", "samples"),
                limit=None if threshold is None else (threshold, f"needed: {threshold:.2f}"),
            )
        )
    score = median_metric("Score", scores, "sample", "the probability of being good, by the critic", 2)
    about = "What share of the questions a reviewer would sign."
    return PageSection("quality", "How good it is", about, [expected, *reviews, score], drawn, _by_kind(run), notes)


def _reviews(run: RunAnalysis) -> list[Metric]:
    found = [run.consensus[sample.id] for sample in run.samples if sample.id in run.consensus]
    if not found:
        return []
    verdicts, noun = Counter(review.verdict for review in found), "reviewed sample"
    corrected = sum(
        review.verdict == "good" and (review.question is not None or review.answer is not None) for review in found
    )
    reviewers = {review.reader for review in latest_reviews(run.reviews) if review.kind == "sample"}
    whose = f"by {counted(len(reviewers), 'reviewer')}: all who reviewed it signed it, corrected or not"
    return [
        share_metric("Signed", verdicts["good"], len(found), noun, whose),
        share_metric("Corrected", corrected, verdicts["good"], "signed sample", "signed with another wording"),
        share_metric("Disputed", verdicts["disputed"], len(found), noun, "one reviewer signed, another refused"),
        share_metric("Reviewed", len(found), len(run.samples), "sample", "draw those to review at random: else the "
                     "share signed says little about the others"),
    ]  # fmt: skip


def _by_kind(run: RunAnalysis) -> list[PageTable]:
    """Return what to expect of the questions by what they ask for, where that was measured."""
    counts = Counter(sample.metadata.get("kind") for sample in run.samples if is_easy(sample))
    rows = [
        (kind, f"{counts[kind]:,}", percent(found["expected_good"]), bounds(*found["interval"]),
         f"{found['measured_on']:,}")
        for kind, found in run.judge.get("kinds", {}).items()
        if counts[kind]
    ]  # fmt: skip
    headings = ("asks for", "samples", "expected good", "95 % interval", "measured on")
    return [PageTable("Those that were easy to ask, by what they ask for", headings, rows)] if rows else []


def _expected_good(run: RunAnalysis) -> Metric:
    """Return the quality estimate, with what it was measured on."""
    found, name = estimate_quality(run.settings["compiled"], run.samples), "Expected good"
    if found is None:
        return Metric(name, UNKNOWN, meaning="the critic was not measured on labels for questions like these")
    meaning = "of labelled questions, those that the threshold of the critic accepts"
    if found.of_runs:
        meaning = "of reviewed questions of other runs, those that the threshold of the critic accepts"
    if found.covers < len(run.samples):
        meaning += f"; holds for the {found.covers:,} samples that were easy to ask, not for the others"
    n, rows = "labelled questions; how many is not noted", found.measured_on
    if rows is not None:
        n = f"{rows:,} questions of runs" if found.of_runs else counted(rows, "labelled question")
    return Metric(name, percent(found.share), n, bounds(found.low, found.high), meaning)


SECTION = ReportSection("quality", section, rank=2)
