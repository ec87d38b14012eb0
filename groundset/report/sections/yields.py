"""What was left after each step."""

from collections import Counter

from groundset.report import pictures
from groundset.report.blocks import Grid, PageSection, Picture
from groundset.report.facts import RunFacts
from groundset.report.shares import bounds, percent, stated_share, wilson

_HEADINGS = ("step", "reached", "refused", "passed", "95 % interval")


def section(facts: RunFacts) -> PageSection:
    """Tell how chunks became contexts, and how candidates became samples."""
    title = "What was left after each step"
    about = "From chunks to passages that were asked about, and from candidate questions to samples."
    if facts.derived or not (facts.attempts or facts.rejects):
        return PageSection("yield", title, about, notes=["This run holds no steps of its own."])
    candidates = len(facts.samples) + len(facts.refused)
    rows = _by_step(facts)
    return PageSection(
        "yield",
        title,
        about,
        figures=[
            stated_share("Kept of candidates", len(facts.samples), candidates, "candidate"),
            stated_share("Kept of attempts", len(facts.samples), facts.attempts, "attempt"),
        ],
        pictures=[_passages(facts), *([_candidates(rows, candidates, len(facts.samples))] if candidates else [])],
        notes=[
            "A question that a step refused and that was then reworded is another candidate, so one attempt may make "
            "several. Shares of a step are of the candidates that reached it."
        ],
    )


def _passages(facts: RunFacts) -> Picture:
    stages = [("chunks", len(facts.chunk_ids))]
    if facts.knows_usable:
        stages.append(("something to ask", len(facts.chunk_ids) - len(facts.passed_over)))
    if facts.attempts:
        stages.append(("attempted", len(facts.tried_chunks | facts.kept_chunks)))
    stages.append(("asked about", len(facts.kept_chunks)))
    names, counts = [name for name, _ in stages], [count for _, count in stages]
    rows = [(name, f"{count:,}", percent(count / (counts[0] or 1))) for name, count in stages]
    return Picture(
        "Chunks",
        "How many chunks there are, how many hold something to ask, and how many samples ask about.",
        pictures.bars("passages", names, counts, [f"{count:,}" for count in counts], marked=len(stages) - 1),
        Grid("", ("chunks", "count", "of all"), rows),
    )


def _by_step(facts: RunFacts) -> list[tuple[str, int, int]]:
    """Return for each step that refused how many candidates reached it and how many it refused."""
    refused = Counter(reject.step for reject in facts.refused)
    order = [*(step for step in facts.tried if step in refused), *(step for step in refused if step not in facts.tried)]
    left = len(facts.samples) + refused.total()
    rows = []
    for step in order:
        rows.append((step, left, refused[step]))
        left -= refused[step]
    return rows


def _candidates(rows: list[tuple[str, int, int]], candidates: int, kept: int) -> Picture:
    names = ["candidates", *(f"after {step}" for step, _, _ in rows)]
    counts = [candidates, *(reached - refused for _, reached, refused in rows)]
    table = []
    for step, reached, refused in rows:
        passed = reached - refused
        table.append(
            (step, f"{reached:,}", f"{refused:,}", percent(passed / reached), bounds(*wilson(passed, reached)))
        )
    return Picture(
        "Candidates",
        f"How many of {candidates:,} candidates each step left; the last {kept:,} are the samples.",
        pictures.bars("steps", names, counts, [f"{count:,}" for count in counts], marked=len(names) - 1),
        Grid("", _HEADINGS, table),
    )
