"""How hard it is to find the passages of the questions."""

from collections import Counter

import numpy as np

from groundset.progress import counted
from groundset.report import pictures
from groundset.report.blocks import Grid, PageSection, Picture
from groundset.report.difficulty import DIFFICULTIES, EARLY, difficulties, found_within, reciprocal
from groundset.report.facts import RunFacts
from groundset.report.likeness import to_passages
from groundset.report.shares import bounds, percent, stated_mean, stated_spread, wilson
from groundset.report.words import overlaps
from groundset.retrieval.index import SEARCH_DEPTH

_RANKS = ((1, 1), (2, 2), (3, 3), (4, 5), (6, 10), (11, 20), (21, SEARCH_DEPTH))
_SHARES = np.linspace(0, 1, 21)
_ABOUT = (
    f"easy: found first, and at least half of the meaningful words of the question stand in its passage; hard: not "
    f"among the first {EARLY}, or later than first with fewer than half of the words; middling: all others."
)


def section(facts: RunFacts) -> PageSection:
    """Tell ranks of the round trip, likeness and shared words of question and passage, and difficulty."""
    units, by_document = facts.units
    shared, near = overlaps(facts.samples), to_passages(facts)
    figures = [
        stated_mean("Hit at 1", found_within(facts, 1), units, "the passage is found first among all chunks"),
        stated_mean(f"Hit at {EARLY}", found_within(facts, EARLY), units, f"it is among the first {EARLY}"),
        stated_mean("Mean reciprocal rank", reciprocal(facts), units, "one over the rank, 0 if it is not found",
                    as_share=False),
        stated_mean("Shared words", shared, units, "of the meaningful words of a question those that stand in its "
                    "passage too"),
    ]  # fmt: skip
    drawn = []
    if facts.samples:
        drawn = [_ranks(facts), _difficulty(difficulties(facts, shared)), _shares("shared", shared, "Shared words",
                 "share of the meaningful words of the question that its passage holds")]  # fmt: skip
    if near is not None and len(near):
        figures.append(stated_spread("Likeness to the passage", near, "question", "the median cosine", 2))
        drawn.append(_shares("near", near, "Likeness of question and passage", "cosine of their embeddings"))
    drew = "documents" if by_document else "questions"
    notes = [f"95 % intervals of means draw {drew} anew; a rank beyond {SEARCH_DEPTH} counts as not found."]
    if facts.max_rank:
        notes.append(
            f"Only questions were kept that found their passage at rank {facts.max_rank} or better with the run's own "
            "embedder, so these figures flatter that embedder. The command groundset roundtrip compares others."
        )
    return PageSection(
        "retrieval",
        "How hard it is to find the passages",
        f"Each question was searched among all {len(facts.chunk_ids):,} chunks of the run.",
        figures=figures,
        pictures=drawn,
        notes=notes,
    )


def _ranks(facts: RunFacts) -> Picture:
    ranks = [sample.retrieval.rank for sample in facts.samples]
    rows = [
        (
            f"{low}" if low == high else f"{low} to {high}",
            sum(rank is not None and low <= rank <= high for rank in ranks),
        )
        for low, high in _RANKS
    ]
    rows.append(("not found", len(ranks) - sum(count for _, count in rows)))
    return _counted("ranks", "Rank of the passage", "rank", rows, f"Where {counted(len(ranks), 'question')} found it.")


def _difficulty(found: list[str]) -> Picture:
    counts = Counter(found)
    return _counted("difficulty", "Difficulty", "difficulty", [(name, counts[name]) for name in DIFFICULTIES], _ABOUT)


def _counted(key: str, title: str, name: str, counts: list[tuple[str, int]], about: str) -> Picture:
    total = sum(count for _, count in counts)
    rows = [(each, f"{count:,}", percent(count / total), bounds(*wilson(count, total))) for each, count in counts]
    told = [f"{count:,} ({percent(count / total)})" for _, count in counts]
    return Picture(
        title, about, pictures.bars(key, [each for each, _ in counts], [count for _, count in counts], told),
        Grid("", (name, "questions", "share", "95 % interval"), rows),
    )  # fmt: skip


def _shares(key: str, values: np.ndarray, title: str, across: str) -> Picture:
    counts, _ = np.histogram(np.clip(values, 0, 1), bins=_SHARES)
    rows = [
        (f"{low:.2f} to {high:.2f}", f"{count:,}")
        for low, high, count in zip(_SHARES, _SHARES[1:], counts, strict=False)
        if count
    ]
    return Picture(
        title,
        f"How many of {counted(len(values), 'question')} have which {across}.",
        pictures.histogram(key, values, _SHARES, across.replace(" that its passage holds", "")),
        Grid("", (title.lower(), "questions"), rows),
    )
