"""What was asked for and what was made."""

from groundset.progress import counted
from groundset.report.blocks import Grid, PageSection, Stated
from groundset.report.facts import RunFacts
from groundset.report.shares import UNKNOWN, percent

_STATUS = {
    "complete": "finished: as many samples as were asked for",
    "short": "finished: fewer samples than were asked for were possible",
    "interrupted": "interrupted: the same command goes on with it",
    "failed": "failed: the same command goes on with it",
    "running": "still going, or killed: all figures are of this moment",
}


def section(facts: RunFacts) -> PageSection:
    """Tell what was asked for, what there is, and what made it."""
    kept = f"{len(facts.samples):,}"
    figures = [
        Stated("Samples", kept if facts.asked is None else f"{kept} of {facts.asked:,} asked for"),
        Stated("State", _STATUS.get(facts.status, UNKNOWN)),
        Stated("Documents", f"{len(facts.sources):,}"),
        Stated("Chunks", f"{len(facts.chunk_ids):,}"),
    ]
    if facts.derived:
        figures.append(Stated("Made by", f"groundset {facts.derived}, of what was there already"))
    elif facts.attempts:
        figures.append(Stated("Attempts", f"{facts.attempts:,}", meaning="each about one passage or several"))
    return PageSection(
        "made",
        "What was made",
        f"{counted(len(facts.samples), 'question')} about {counted(len(facts.sources), 'document')}.",
        figures=figures,
        tables=[
            Grid(title, (name, "samples", "share"), _rows(facts, found))
            for title, name, found in (
                ("Evolutions", "evolution", [sample.evolution for sample in facts.samples]),
                ("Languages", "language", [sample.language for sample in facts.samples]),
                ("Splits", "split", [sample.split for sample in facts.samples if sample.split]),
            )
            if found
        ]
        + [Grid("Made with", ("what", "which"), _with(facts), texts=True)],
        notes=[] if facts.samples else ["There are no samples, so most figures are not known."],
    )


def _rows(facts: RunFacts, found: list[str]) -> list[tuple[str, ...]]:
    return [(name, f"{count:,}", percent(count / len(found))) for name, count in facts.counts(found)]


def _with(facts: RunFacts) -> list[tuple[str, ...]]:
    """Return what the run was made with, as far as it says so."""
    models, configuration = facts.meta["models"] or {}, facts.meta["configuration"] or {}
    told = [
        ("recipe", configuration.get("recipe")),
        *((what, (models.get(key) or {}).get("name")) for what, key in (
            ("language model", "lm"), ("critics", "critic"), ("language model that judges", "critic_lm"),
            ("embedder", "embedder"), ("parser", "parser"),
        )),
        ("chunker", configuration.get("chunker")),
    ]  # fmt: skip
    return [(name, str(value)) for name, value in told if value] or [("nothing", "the run does not say")]
