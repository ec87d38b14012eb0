"""What was requested and what was made."""

from collections import Counter

from groundset.progress import counted
from groundset.report.analysis import ReportSection, RunAnalysis
from groundset.report.page import UNKNOWN, Metric, PageSection, PageTable, percent

_STATUS = {
    "complete": "finished: as many samples as were asked for",
    "short": "finished: fewer samples than were asked for were possible",
    "interrupted": "interrupted: the same command continues it",
    "failed": "failed: the same command continues it",
    "running": "still running, or killed: all figures are of this moment",
}


def section(run: RunAnalysis) -> PageSection:
    """Show what was requested, what there is, and what made it."""
    kept = f"{len(run.samples):,}"
    metrics = [
        Metric("Samples", kept if run.requested is None else f"{kept} of {run.requested:,} asked for"),
        Metric("State", _STATUS.get(run.status, UNKNOWN)),
        Metric("Documents", f"{len(run.documents):,}"),
        Metric("Chunks", f"{len(run.chunks):,}"),
    ]
    if run.derived:
        metrics.append(Metric("Made by", f"groundset {run.derived}, from existing samples"))
    elif run.attempts:
        metrics.append(Metric("Attempts", f"{run.attempts:,}", meaning="each about one passage or several"))
    tables = [
        _counts("Evolutions", "evolution", [sample.evolution for sample in run.samples]),
        _counts("Languages", "language", [sample.language for sample in run.samples]),
        _counts("Splits", "split", [sample.split for sample in run.samples if sample.split]),
        PageTable("Made with", ("what", "which"), _made_with(run), texts=True),
    ]
    return PageSection(
        "made",
        "What was made",
        f"{counted(len(run.samples), 'question')} about {counted(len(run.documents), 'document')}.",
        metrics,
        tables=[table for table in tables if table.rows],
        notes=[] if run.samples else ["There are no samples, so most figures are not known."],
    )


def _counts(title: str, name: str, found: list[str]) -> PageTable:
    rows = [(value, f"{count:,}", percent(count / len(found))) for value, count in Counter(found).most_common()]
    return PageTable(title, (name, "samples", "share"), rows)


def _made_with(run: RunAnalysis) -> list[tuple[str, str]]:
    """Return what the run was made with, as far as it notes that."""
    models, configuration = run.settings["models"], run.settings["configuration"]
    names = [
        ("recipe", configuration.get("recipe")),
        *((what, (models.get(key) or {}).get("name")) for what, key in (
            ("language model", "lm"), ("critics", "critic"), ("language model that judges", "critic_lm"),
            ("embedder", "embedder"), ("parser", "parser"),
        )),
        ("chunker", configuration.get("chunker")),
    ]  # fmt: skip
    return [(what, str(name)) for what, name in names if name] or [("nothing", "the run does not note it")]


SECTION = ReportSection("made", section, rank=1)
