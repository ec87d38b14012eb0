"""How different the questions are from one another."""

import numpy as np

from groundset.engine.duplicates import SIMILARITY
from groundset.progress import counted
from groundset.report import pictures
from groundset.report.blocks import Grid, PageSection, Picture, Stated
from groundset.report.facts import RunFacts
from groundset.report.likeness import mean_likeness, nearest_other
from groundset.report.shares import UNKNOWN, percent, stated_share
from groundset.report.words import distinct
from programs.text import tokens

_EDGES = np.linspace(0, 1, 26)


def section(facts: RunFacts) -> PageSection:
    """Tell how much questions repeat words and sense of others."""
    asked = [sample.question for sample in facts.samples]
    same = len(asked) - len({tuple(tokens(question)) or question for question in asked})
    refused = sum(reject.step == "duplicate" for reject in facts.rejects)
    figures = [_distinct(asked, 1), _distinct(asked, 2), stated_share("Same words", same, len(asked), "question",
               "questions that repeat the words of an earlier one, in the same order")]  # fmt: skip
    drawn, notes = [], []
    near = np.empty(0) if facts.questions is None else nearest_other(facts.questions)
    if facts.questions is not None and (likeness := mean_likeness(facts.questions)) is not None:
        alike = int((near >= SIMILARITY).sum())
        figures += [
            Stated("Likeness of two questions", f"{likeness:.2f}", counted(len(asked), "question"), "",
                   "the mean cosine of all pairs; 1 would be one question over and over"),
            stated_share("With a near twin", alike, len(asked), "question",
                         f"another question has a cosine of {SIMILARITY} or more, which a run allows where the numbers "
                         "in them differ"),
        ]  # fmt: skip
        drawn.append(_nearest(near))
    elif len(asked) > 1:
        notes.append("How alike questions are is not known: not all of them have embeddings.")
    if refused and not facts.derived:
        figures.append(Stated("Refused as duplicates", f"{refused:,}", meaning="questions that repeated a kept one"))
    dropped = (facts.meta["corpus"] or {}).get("dropped_duplicates")
    if dropped:
        figures.append(Stated("Chunks dropped as duplicates", f"{dropped:,}", meaning="before anything was asked"))
    return PageSection(
        "diversity",
        "How different they are",
        "Whether questions repeat one another, in their words and in their sense.",
        figures=figures,
        pictures=drawn,
        notes=[*notes, "The share of distinct words falls as a set grows: compare sets of one size only."],
    )


def _distinct(asked: list[str], size: int) -> Stated:
    found, total = distinct(asked, size)
    plural = "words" if size == 1 else "pairs of words"
    told = percent(found / total) if total else UNKNOWN
    return Stated(f"Distinct {plural}", told, f"{total:,} {plural}", "",
                  f"different {plural} by all {plural} in the questions")  # fmt: skip


def _nearest(near: np.ndarray) -> Picture:
    counts, _ = np.histogram(np.clip(near, 0, 1), bins=_EDGES)
    rows = [
        (f"{low:.2f} to {high:.2f}", f"{count:,}")
        for low, high, count in zip(_EDGES, _EDGES[1:], counts, strict=False)
        if count
    ]
    return Picture(
        "The most similar other question",
        f"How like the nearest other one each of {counted(len(near), 'question')} is, by the cosine of embeddings.",
        pictures.histogram("twins", near, _EDGES, "cosine with the nearest other question", (SIMILARITY, "twin")),
        Grid("", ("cosine", "questions"), rows),
    )
