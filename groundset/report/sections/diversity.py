"""Report section: diversity of the questions."""

import numpy as np

from groundset.engine.duplicates import SIMILARITY
from groundset.progress import counted
from groundset.report.analysis import ReportSection, RunAnalysis
from groundset.report.charts import histogram_chart
from groundset.report.measurements import distinct, mean_similarity, nearest_other
from groundset.report.page import UNKNOWN, Metric, PageSection, percent, share_metric
from programs.text import tokens

_EDGES = np.linspace(0, 1, 26)


def section(run: RunAnalysis) -> PageSection:
    """Show how much questions repeat the words or the meaning of others."""
    questions = [sample.question for sample in run.samples]
    same = len(questions) - len({tuple(tokens(question)) or question for question in questions})
    metrics = [
        _distinct(questions, 1),
        _distinct(questions, 2),
        share_metric("Exact repeats", same, len(questions), "question", "same words as an earlier question"),
    ]
    drawn, notes = [], []
    if (similarity := mean_similarity(run.question_vectors)) is not None:
        near = nearest_other(run.question_vectors)
        metrics += [
            Metric("Similarity of two questions", f"{similarity:.2f}", counted(len(questions), "question"), "",
                   "mean cosine of all pairs; 1 if all questions are the same"),
            share_metric("Near-duplicates", int((near >= SIMILARITY).sum()), len(questions), "question",
                         f"cosine with another question of {SIMILARITY} or more; a run accepts these only if their "
                         "numbers differ"),
        ]  # fmt: skip
        drawn.append(
            histogram_chart(
                "near-duplicates",
                "Similarity to the nearest question",
                f"Cosine of each of {counted(len(near), 'question')} with the most similar other question.",
                near,
                "cosine with the nearest question",
                ("cosine", "questions"),
                _EDGES,
                (SIMILARITY, "near-duplicate"),
            )
        )
    elif len(questions) > 1:
        notes.append("Similarity unknown: some questions have no embedding.")
    refused = sum(reject.step == "duplicate" for reject in run.rejects)
    if refused and not run.derived:
        metrics.append(Metric("Refused as duplicates", f"{refused:,}", meaning="they repeated an accepted question"))
    if dropped := run.settings["corpus"].get("dropped_duplicates"):
        metrics.append(Metric("Chunks dropped as duplicates", f"{dropped:,}", meaning="before generation"))
    notes.append("The share of distinct words falls as a set grows; compare only sets of the same size.")
    about = "Whether questions repeat each other, in words or in meaning."
    return PageSection("diversity", "Diversity", about, metrics, drawn, notes=notes)


def _distinct(questions: list[str], size: int) -> Metric:
    found, total = distinct(questions, size)
    plural = "words" if size == 1 else "word pairs"
    share = percent(found / total) if total else UNKNOWN
    meaning = f"distinct {plural} / all {plural} of the questions"
    return Metric(f"Distinct {plural}", share, f"{total:,} {plural}", "", meaning)


SECTION = ReportSection("diversity", section, rank=7)
