"""What the questions found under one setting."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from groundset.retrieval_eval.differences import Scores
from groundset.retrieval_eval.figures import Figure, Units, mean
from groundset.retrieval_eval.settings import RetrievalSetting
from programs.types import Chunk, Sample

_EARLY = 5


class Finding(NamedTuple):
    """What one question found: the chunk that came first, and where its passages came.

    ``score`` is 1 if a chunk that was asked about comes first. ``rank`` counts from 1, is that of the passage that came
    last where several are needed, and None if one of them is not among the first 50.
    """

    first: Chunk
    score: int
    rank: int | None


class Result(NamedTuple):
    """What one setting reached.

    ``left_out`` counts questions whose passage is in no chunk of this cut. ``embedding`` are the seconds that its
    chunks took, None for those that the run had embedded; ``searching`` those of all questions.
    """

    setting: RetrievalSetting
    chunks: int
    findings: list[Finding]
    left_out: int
    embedding: float | None
    searching: float

    @property
    def scores(self) -> Scores:
        """Return the scores of every question."""
        return Scores(
            self.setting,
            np.array([finding.score for finding in self.findings], dtype=float),
            np.array([1 / finding.rank if finding.rank else 0.0 for finding in self.findings]),
        )

    def figures(self, units: Units) -> dict[str, Figure]:
        """Return hit@1, hit@5 and the mean reciprocal rank with their intervals."""
        early = np.array(
            [finding.rank is not None and finding.rank <= _EARLY for finding in self.findings], dtype=float
        )
        return {
            "hit_at_1": mean(self.scores.hits, units),
            "hit_at_5": mean(early, units),
            "reciprocal_rank": mean(self.scores.reciprocal, units),
        }

    @property
    def median_rank(self) -> float | None:
        """Return the median rank, or None if it lies beyond the first 50."""
        median = float(np.median([finding.rank or np.inf for finding in self.findings]))
        return median if np.isfinite(median) else None


def sample_rows(samples: Sequence[Sample], result: Result) -> list[dict[str, Any]]:
    """Return one setting's findings as rows, one for each question."""
    return [
        {
            "id": sample.id,
            "question": sample.question,
            "context": "\n\n".join(chunk.text for chunk in sample.contexts),
            "retrieved_content": finding.first.text,
            "retrieved_id": finding.first.chunk_id,
            "score": finding.score,
            "rank": finding.rank,
            "reciprocal_rank": round(1 / finding.rank, 6) if finding.rank else 0.0,
        }
        for sample, finding in zip(samples, result.findings, strict=True)
    ]
