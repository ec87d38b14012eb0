"""Report section: kinds, first words, lengths and profiles of the questions."""

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
    """Show kinds, first words, lengths and profiles."""
    questions = [sample.question for sample in run.samples]
    kinds = [str(sample.metadata.get("kind")) for sample in run.samples if sample.metadata.get("kind")]
    words, answers = lengths(questions), lengths(sample.answer for sample in run.samples)
    drawn = [_counts("kinds", "Kinds", "kind", kinds)] if kinds else []
    if questions:
        drawn += [_counts("openings", "First words", "first word", first_words(questions)), _lengths(words)]
    profiles = [sample.profile for sample in run.samples]
    for number, name in enumerate(dict.fromkeys(name for profile in profiles for name in profile)):
        found = [profile[name] for profile in profiles if name in profile]
        drawn.append(_counts(f"profile-{number}", f"Profile: {name}", name.lower(), found))
    unknown = len(questions) - len(kinds)
    return PageSection(
        "questions",
        "Questions",
        "Kinds, first words and lengths of the questions.",
        [
            median_metric("Words per question", words, "question", "median"),
            median_metric("Words per answer", answers, "answer", "median"),
        ],
        drawn,
        notes=[f"The kind of {counted(unknown, 'question')} is not recorded."] if unknown else [],
    )


def _counts(key: str, title: str, name: str, found: list[str]) -> Chart:
    shown = Counter(found).most_common(_SHOWN)
    others = len(found) - sum(count for _, count in shown)
    rest = f"; {others:,} others are not shown" if others else ""
    about = f"{counted(len(found), 'question')} by {name}, the most frequent first{rest}."
    return counts_chart(key, title, about, name, shown, others)


def _lengths(words: list[int]) -> Chart:
    longest = max(*words, 8)
    step = -(-longest // _BINS)

    def label(low: float, high: float) -> str:
        return f"{low + 0.5:.0f}" if step == 1 else f"{low + 0.5:.0f} to {high - 0.5:.0f}"

    return histogram_chart(
        "lengths",
        "Length",
        f"{counted(len(words), 'question')} by number of words.",
        words,
        "words",
        ("words", "questions"),
        np.arange(0, longest + step + 1, step) - 0.5,
        label=label,
    )


SECTION = ReportSection("questions", section, rank=6)
