"""Report section: retrieval difficulty of the questions."""

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
    f"easy: rank 1 and at least half of the content words of the question are in its passage; hard: beyond rank "
    f"{EARLY}, or beyond rank 1 with fewer than half of the words; middling: all others."
)


def section(run: RunAnalysis) -> PageSection:
    """Show retrieval ranks, similarity and shared words of question and passage, and difficulty."""
    units, by_document = run.answerable_units
    samples, near = run.answerable, run.passage_similarity
    shared = overlaps(samples)
    metrics = [
        mean_metric("Hit at 1", found_within(samples, 1), units, "the passage has rank 1 among all chunks"),
        mean_metric(f"Hit at {EARLY}", found_within(samples, EARLY), units, f"rank {EARLY} or better"),
        mean_metric("Mean reciprocal rank", reciprocal_ranks(samples), units, "0 if not found", as_share=False),
        mean_metric("Shared words", shared, units, "content words of a question that occur in its passage"),
    ]
    drawn = []
    if samples:
        counts = Counter(difficulties(samples, shared))
        found = [(name, counts[name]) for name in DIFFICULTIES]
        drawn = [
            _ranks(run),
            counts_chart("difficulty", "Difficulty", _DIFFICULTY, "difficulty", found),
            _histogram("shared", "Shared words", shared, "share of content words found in the passage"),
        ]
    if near is not None and len(near):
        metrics.append(median_metric("Similarity to the passage", near, "question", "median cosine", 2))
        drawn.append(_histogram("near", "Similarity of question and passage", near, "cosine of their embeddings"))
    drew = "documents" if by_document else "questions"
    notes = [f"95 % intervals of means resample {drew}; ranks beyond {SEARCH_DEPTH} count as not found."]
    if unanswerable := len(run.samples) - len(samples):
        notes.append(f"{counted(unanswerable, 'unanswerable question')} left out: there is no passage to be found.")
    if max_rank := int(run.settings["configuration"].get("max_rank") or 0):
        notes.append(
            f"The run kept only questions whose passage its own embedder found at rank {max_rank} or better, so these "
            "figures favour that embedder. Run `groundset roundtrip` to compare others."
        )
    about = f"Each question was searched among all {len(run.chunks):,} chunks of the run."
    return PageSection("retrieval", "Retrieval", about, metrics, drawn, notes=notes)


def _ranks(run: RunAnalysis) -> Chart:
    ranks = [sample.retrieval.rank for sample in run.answerable]
    rows = [
        (f"{low}" if low == high else f"{low} to {high}", sum(low <= rank <= high for rank in ranks if rank))
        for low, high in _RANKS
    ]
    rows.append(("not found", len(ranks) - sum(count for _, count in rows)))
    about = f"{counted(len(ranks), 'question')} by rank of the passage."
    return counts_chart("ranks", "Rank of the passage", about, "rank", rows)


def _histogram(key: str, title: str, values: Values, across: str) -> Chart:
    about = f"{counted(len(values), 'question')} by {across}."
    return histogram_chart(key, title, about, values, across, (title.lower(), "questions"))


SECTION = ReportSection("retrieval", section, rank=8)
