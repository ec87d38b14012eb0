"""How hard it is to find the passages of the questions."""

from collections import Counter

from groundset.progress import counted
from groundset.report.analysis import ReportSection, RunAnalysis
from groundset.report.charts import counts_chart, histogram_chart
from groundset.report.measurements import (
    DIFFICULTIES,
    EARLY,
    difficulties,
    found_within,
    overlaps,
    reciprocal_ranks,
)  # fmt: skip
from groundset.report.page import Chart, PageSection, mean_metric, median_metric
from groundset.retrieval.index import SEARCH_DEPTH
from groundset.stats import Values

_RANKS = ((1, 1), (2, 2), (3, 3), (4, 5), (6, 10), (11, 20), (21, SEARCH_DEPTH))
_DIFFICULTY = (
    f"easy: found first, and at least half of the meaningful words of the question stand in its passage; hard: not "
    f"among the first {EARLY}, or later than first with fewer than half of the words; middling: all others."
)


def section(run: RunAnalysis) -> PageSection:
    """Show ranks of the round trip, likeness and shared words of question and passage, and difficulty."""
    units, by_document = run.units
    samples, shared, near = run.samples, overlaps(run.samples), run.passage_likeness
    metrics = [
        mean_metric("Hit at 1", found_within(samples, 1), units, "the passage is found first among all chunks"),
        mean_metric(f"Hit at {EARLY}", found_within(samples, EARLY), units, f"it is among the first {EARLY}"),
        mean_metric("Mean reciprocal rank", reciprocal_ranks(samples), units, "one over the rank, 0 if it is not found",
                    as_share=False),
        mean_metric("Shared words", shared, units, "of the meaningful words of a question those that stand in its "
                    "passage too"),
    ]  # fmt: skip
    drawn = []
    if samples:
        words = "share of the meaningful words of the question"
        counts = Counter(difficulties(samples, shared))
        found = [(name, counts[name]) for name in DIFFICULTIES]
        drawn = [
            _ranks(run),
            counts_chart("difficulty", "Difficulty", _DIFFICULTY, "difficulty", found),
            _shares("shared", "Shared words", shared, words, f"{words} that its passage holds"),
        ]
    if near is not None and len(near):
        across = "cosine of their embeddings"
        metrics.append(median_metric("Likeness to the passage", near, "question", "the median cosine", 2))
        drawn.append(_shares("near", "Likeness of question and passage", near, across, across))
    drew = "documents" if by_document else "questions"
    notes = [f"95 % intervals of means draw {drew} anew; a rank beyond {SEARCH_DEPTH} counts as not found."]
    if max_rank := int(run.settings["configuration"].get("max_rank") or 0):
        notes.append(
            f"Only questions were kept that found their passage at rank {max_rank} or better with the run's own "
            "embedder, so these figures flatter that embedder. The command groundset roundtrip compares others."
        )
    about = f"Each question was searched among all {len(run.chunks):,} chunks of the run."
    return PageSection("retrieval", "How hard it is to find the passages", about, metrics, drawn, notes=notes)


def _ranks(run: RunAnalysis) -> Chart:
    ranks = [sample.retrieval.rank for sample in run.samples]
    rows = [
        (f"{low}" if low == high else f"{low} to {high}", sum(low <= rank <= high for rank in ranks if rank))
        for low, high in _RANKS
    ]
    rows.append(("not found", len(ranks) - sum(count for _, count in rows)))
    about = f"Where {counted(len(ranks), 'question')} found it."
    return counts_chart("ranks", "Rank of the passage", about, "rank", rows)


def _shares(key: str, title: str, values: Values, across: str, what: str) -> Chart:
    about = f"How many of {counted(len(values), 'question')} have which {what}."
    return histogram_chart(key, title, about, values, across, (title.lower(), "questions"))


SECTION = ReportSection("retrieval", section, rank=8)
