"""Report section: quality estimate and reviews."""

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
    """Show the share of good questions: as estimated from the critic, and as reviewed."""
    judge, scores = run.judge, np.array([sample.probability for sample in run.samples])
    expected = _expected_good(run)
    reviews = _reviews(run)
    notes = []
    if expected.n:
        rows = "individually reviewed questions of other runs" if "kinds" in judge else "labelled questions"
        notes.append(
            f"The expected share was measured on {rows}: the share of good ones among those accepted by the critic "
            f"({judge.get('model', UNKNOWN)}, by {judge.get('optimizer', UNKNOWN)}) at this run's threshold. Other "
            "documents and language models may differ; review samples to find out."
        )
    if not reviews:
        notes.append("These questions have not been reviewed; run `groundset review` to review them.")
    drawn = []
    if len(scores):
        threshold = judge.get("threshold")
        drawn.append(
            histogram_chart(
                "scores",
                "Scores of the critic",
                f"Scores of {counted(len(scores), 'sample')}, from 0 to 1.",
                scores,
                "score",
                ("score", "samples"),
                limit=None if threshold is None else (threshold, f"threshold: {threshold:.2f}"),
            )
        )
    score = median_metric("Score", scores, "sample", "probability of being good, by the critic", 2)
    about = "The share of questions that a reviewer would sign."
    return PageSection("quality", "Quality", about, [expected, *reviews, score], drawn, _by_kind(run), notes)


def _reviews(run: RunAnalysis) -> list[Metric]:
    found = [run.consensus[sample.id] for sample in run.samples if sample.id in run.consensus]
    if not found:
        return []
    verdicts, noun = Counter(review.verdict for review in found), "reviewed sample"
    corrected = sum(
        review.verdict == "good" and (review.question is not None or review.answer is not None) for review in found
    )
    reviewers = {review.reader for review in latest_reviews(run.reviews) if review.kind == "sample"}
    meaning = f"by all of their reviewers ({len(reviewers):,} in total), corrected or not"
    return [
        share_metric("Signed", verdicts["good"], len(found), noun, meaning),
        share_metric("Corrected", corrected, verdicts["good"], "signed sample", "signed with changed wording"),
        share_metric("Disputed", verdicts["disputed"], len(found), noun, "one reviewer signed, another refused"),
        share_metric("Reviewed", len(found), len(run.samples), "sample", "draw samples at random for review; otherwise "
                     "the share signed does not generalise"),
    ]  # fmt: skip


def _by_kind(run: RunAnalysis) -> list[PageTable]:
    """Return the quality estimates by kind of question, where measured."""
    counts = Counter(sample.metadata.get("kind") for sample in run.samples if is_easy(sample))
    rows = [
        (kind, f"{counts[kind]:,}", percent(found["expected_good"]), bounds(*found["interval"]),
         f"{found['measured_on']:,}")
        for kind, found in run.judge.get("kinds", {}).items()
        if counts[kind]
    ]  # fmt: skip
    headings = ("kind", "samples", "expected good", "95 % interval", "measured on")
    return [PageTable("Easy questions by kind", headings, rows)] if rows else []


def _expected_good(run: RunAnalysis) -> Metric:
    """Return the quality estimate with its sample size."""
    found, name = estimate_quality(run.settings["compiled"], run.samples), "Expected good"
    if found is None:
        return Metric(name, UNKNOWN, meaning="the critic was not measured on labels of such questions")
    source = "reviewed questions of other runs" if found.of_runs else "labelled questions"
    meaning = f"of {source} that the critic accepts at its threshold"
    if found.covers < len(run.samples):
        meaning += f"; applies to the {found.covers:,} easy samples only"
    n, rows = "labelled questions; number not recorded", found.measured_on
    if rows is not None:
        n = f"{rows:,} questions of runs" if found.of_runs else counted(rows, "labelled question")
    return Metric(name, percent(found.share), n, bounds(found.low, found.high), meaning)


SECTION = ReportSection("quality", section, rank=2)
