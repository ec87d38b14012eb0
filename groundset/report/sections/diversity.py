"""How different the questions are from one another."""

import numpy as np

from groundset.engine.duplicates import SIMILARITY
from groundset.progress import counted
from groundset.report.analysis import ReportSection, RunAnalysis
from groundset.report.charts import histogram_chart
from groundset.report.measurements import distinct, mean_likeness, nearest_other
from groundset.report.page import UNKNOWN, Metric, PageSection, percent, share_metric
from programs.text import tokens

_EDGES = np.linspace(0, 1, 26)


def section(run: RunAnalysis) -> PageSection:
    """Show how much questions repeat the words and the sense of others."""
    asked = [sample.question for sample in run.samples]
    same = len(asked) - len({tuple(tokens(question)) or question for question in asked})
    metrics = [
        _distinct(asked, 1),
        _distinct(asked, 2),
        share_metric("Same words", same, len(asked), "question", "questions that repeat an earlier one word for word"),
    ]
    drawn, notes = [], []
    if (likeness := mean_likeness(run.question_vectors)) is not None:
        near = nearest_other(run.question_vectors)
        metrics += [
            Metric("Likeness of two questions", f"{likeness:.2f}", counted(len(asked), "question"), "",
                   "the mean cosine of all pairs; 1 would be one question over and over"),
            share_metric("With a near twin", int((near >= SIMILARITY).sum()), len(asked), "question",
                         f"another question has a cosine of {SIMILARITY} or more, which a run allows where the numbers "
                         "in them differ"),
        ]  # fmt: skip
        drawn.append(
            histogram_chart(
                "twins",
                "The most similar other question",
                f"How like the nearest other one each of {counted(len(near), 'question')} is, by cosine of embeddings.",
                near,
                "cosine with the nearest other question",
                ("cosine", "questions"),
                _EDGES,
                (SIMILARITY, "twin"),
            )
        )
    elif len(asked) > 1:
        notes.append("How alike questions are is not known: not all of them have embeddings.")
    refused = sum(reject.step == "duplicate" for reject in run.rejects)
    if refused and not run.derived:
        metrics.append(Metric("Refused as duplicates", f"{refused:,}", meaning="they repeated an accepted question"))
    if dropped := run.settings["corpus"].get("dropped_duplicates"):
        metrics.append(Metric("Chunks dropped as duplicates", f"{dropped:,}", meaning="before anything was asked"))
    notes.append("The share of distinct words falls as a set grows: compare sets of one size only.")
    about = "Whether questions repeat one another, in their words and in their sense."
    return PageSection("diversity", "How different they are", about, metrics, drawn, notes=notes)


def _distinct(asked: list[str], size: int) -> Metric:
    found, total = distinct(asked, size)
    plural = "words" if size == 1 else "pairs of words"
    share = percent(found / total) if total else UNKNOWN
    meaning = f"different {plural} by all {plural} in the questions"
    return Metric(f"Distinct {plural}", share, f"{total:,} {plural}", "", meaning)


SECTION = ReportSection("diversity", section, rank=7)
