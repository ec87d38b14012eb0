"""What the questions ask for, how long they are and how they begin."""

from collections import Counter

import numpy as np

from groundset.progress import counted
from groundset.report.analysis import ReportSection, RunAnalysis
from groundset.report.charts import counts_chart, histogram_chart
from groundset.report.measurements import first_words, lengths
from groundset.report.page import Chart, PageSection, median_metric

_SHOWN = 10
_BINS = 20


def section(run: RunAnalysis) -> PageSection:
    """Show kinds, first words and lengths."""
    asked = [sample.question for sample in run.samples]
    kinds = [str(sample.metadata.get("kind")) for sample in run.samples if sample.metadata.get("kind")]
    words, answers = lengths(asked), lengths(sample.answer for sample in run.samples)
    drawn = [_counts("kinds", "What they ask for", "kind", kinds)] if kinds else []
    if asked:
        drawn += [_counts("openings", "How they begin", "first word", first_words(asked)), _lengths(words)]
    unknown = len(asked) - len(kinds)
    return PageSection(
        "questions",
        "The questions",
        "What they ask for, how they begin, and how long they are.",
        [
            median_metric("Words of a question", words, "question", "the median"),
            median_metric("Words of an answer", answers, "answer", "the median"),
        ],
        drawn,
        notes=[f"What they ask for is not noted for {counted(unknown, 'question')}."] if unknown else [],
    )


def _counts(key: str, title: str, name: str, found: list[str]) -> Chart:
    shown = Counter(found).most_common(_SHOWN)
    others = len(found) - sum(count for _, count in shown)
    rest = f"; {others:,} have others" if others else ""
    about = f"How many of {counted(len(found), 'question')}, by {name}, the most frequent first{rest}."
    return counts_chart(key, title, about, name, shown, others)


def _lengths(words: list[int]) -> Chart:
    most = max(*words, 8)
    step = -(-most // _BINS)

    def label(low: float, high: float) -> str:
        return f"{low + 0.5:.0f}" if step == 1 else f"{low + 0.5:.0f} to {high - 0.5:.0f}"

    return histogram_chart(
        "lengths",
        "Length",
        f"How many of {counted(len(words), 'question')} have how many words.",
        words,
        "words",
        ("words", "questions"),
        np.arange(0, most + step + 1, step) - 0.5,
        label=label,
    )


SECTION = ReportSection("questions", section, rank=6)
