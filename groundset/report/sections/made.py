"""Report section: requested and accepted samples, and how they were made."""

from collections import Counter

from groundset.progress import counted
from groundset.report.analysis import ReportSection, RunAnalysis
from groundset.report.page import UNKNOWN, Metric, PageSection, PageTable, percent

_STATUS = {
    "complete": "finished: all requested samples",
    "short": "finished: fewer samples than requested",
    "budget": "ended by a budget: the same command with a larger one continues it",
    "interrupted": "interrupted: the same command continues it",
    "failed": "failed: the same command continues it",
    "running": "still running or killed: the figures are a snapshot",
}


def section(run: RunAnalysis) -> PageSection:
    """Show the number of samples, their groups, and the components that made them."""
    kept = f"{len(run.samples):,}"
    metrics = [
        Metric("Samples", kept if run.requested is None else f"{kept} of {run.requested:,} requested"),
        Metric("Status", _STATUS.get(run.status, UNKNOWN)),
        Metric("Documents", f"{len(run.documents):,}"),
        Metric("Chunks", f"{len(run.chunks):,}"),
    ]
    if run.derived:
        metrics.append(Metric("Made by", f"groundset {run.derived}, from existing samples"))
    elif run.attempts:
        metrics.append(Metric("Attempts", f"{run.attempts:,}", meaning="each on one or more passages"))
    tables = [
        _counts("Evolutions", "evolution", [sample.evolution for sample in run.samples]),
        _counts("Languages", "language", [sample.language for sample in run.samples]),
        _counts("Splits", "split", [sample.split for sample in run.samples if sample.split]),
        PageTable("Made with", ("component", "name"), _made_with(run), texts=True),
    ]
    return PageSection(
        "made",
        "Samples",
        f"{counted(len(run.samples), 'question')} about {counted(len(run.documents), 'document')}.",
        metrics,
        tables=[table for table in tables if table.rows],
        notes=[] if run.samples else ["There are no samples, so most figures are unknown."],
    )


def _counts(title: str, name: str, found: list[str]) -> PageTable:
    rows = [(value, f"{count:,}", percent(count / len(found))) for value, count in Counter(found).most_common()]
    return PageTable(title, (name, "samples", "share"), rows)


def _made_with(run: RunAnalysis) -> list[tuple[str, str]]:
    """Return the recorded components of the run."""
    models, configuration = run.settings["models"], run.settings["configuration"]
    names = [
        ("recipe", configuration.get("recipe")),
        *((component, (models.get(key) or {}).get("name")) for component, key in (
            ("language model", "lm"), ("critics", "critic"), ("judging language model", "critic_lm"),
            ("embedder", "embedder"), ("parser", "parser"),
        )),
        ("chunker", configuration.get("chunker")),
    ]  # fmt: skip
    return [(component, str(name)) for component, name in names if name] or [("all", "not recorded")]


SECTION = ReportSection("made", section, rank=1)
