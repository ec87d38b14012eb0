"""What the questions ask for, how long they are and how they begin."""

import numpy as np

from groundset.progress import counted
from groundset.report import pictures
from groundset.report.blocks import Grid, PageSection, Picture
from groundset.report.facts import RunFacts
from groundset.report.shares import bounds, percent, stated_spread, wilson
from groundset.report.words import first_words, lengths

_SHOWN = 10
_BINS = 20


def section(facts: RunFacts) -> PageSection:
    """Tell kinds, first words and lengths."""
    asked = [sample.question for sample in facts.samples]
    kinds = [str(sample.metadata.get("kind")) for sample in facts.samples if sample.metadata.get("kind")]
    long = lengths(asked)
    drawn = []
    if kinds:
        drawn.append(_counted(facts, "kinds", "What they ask for", "kind", kinds))
    if asked:
        drawn.append(_counted(facts, "openings", "How they begin", "first word", first_words(asked)))
        drawn.append(_lengths(long))
    unknown = len(asked) - len(kinds)
    return PageSection(
        "questions",
        "The questions",
        "What they ask for, how they begin, and how long they are.",
        figures=[
            stated_spread("Words of a question", long, "question", "the median"),
            stated_spread("Words of an answer", lengths(sample.answer for sample in facts.samples), "answer",
                          "the median"),
        ],
        pictures=drawn,
        notes=[f"Of {counted(unknown, 'question')} nobody noted what it asks for."] if unknown else [],
    )  # fmt: skip


def _counted(facts: RunFacts, key: str, title: str, name: str, found: list[str]) -> Picture:
    counts = facts.counts(found)
    shown = counts[:_SHOWN]
    left = len(found) - sum(count for _, count in shown)
    rows = [
        (each, f"{count:,}", percent(count / len(found)), bounds(*wilson(count, len(found))))
        for each, count in [*shown, *([("others", left)] if left else [])]
    ]
    told = [f"{count:,} ({percent(count / len(found))})" for _, count in shown]
    return Picture(
        title,
        f"How many of {counted(len(found), 'question')}, by {name}, the most frequent first"
        f"{f'; {left:,} have others' if left else ''}.",
        pictures.bars(key, [each for each, _ in shown], [count for _, count in shown], told),
        Grid("", (name, "questions", "share", "95 % interval"), rows),
    )


def _lengths(long: list[int]) -> Picture:
    most = max(*long, 8)
    step = -(-most // _BINS)
    edges = np.arange(0, most + step + 1, step) - 0.5
    counts, _ = np.histogram(long, bins=edges)
    rows = [
        (f"{low + 0.5:.0f}" if step == 1 else f"{low + 0.5:.0f} to {low + step - 0.5:.0f}", f"{count:,}")
        for low, count in zip(edges, counts, strict=False)
        if count
    ]
    return Picture(
        "Length",
        f"How many of {counted(len(long), 'question')} have how many words.",
        pictures.histogram("lengths", long, edges, "words"),
        Grid("", ("words", "questions"), rows),
    )
