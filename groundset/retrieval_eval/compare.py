"""Comparison of retrievers on the questions of a run, with significance tests."""

from collections.abc import Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from groundset.retrieval_eval.configs import RetrieverConfig
from groundset.retrieval_eval.passages import Groups, PassageFinder, source_passages
from groundset.retrieval_eval.search import RetrieverSearch, SearchMonitor, SearchOptions
from groundset.run import Run
from groundset.stats import (
    ALPHA,
    Estimate,
    Units,
    Values,
    bootstrap_mean,
    detectable_gain,
    holm,
    mcnemar,
    permutation,
    resampling_units,
)
from programs.errors import InputError
from programs.types import Chunk, Sample

HIT, RECIPROCAL = "hit@1", "mean reciprocal rank"
_EARLY = 5


class Finding(NamedTuple):
    """The search result of one question.

    Attributes:
        first: top-ranked chunk; None if the retriever found none.
        score: 1 if it contains a passage of the question, else 0.
        rank: rank of the passage, from 1; the largest if several are needed; None if one is beyond the search depth.
    """

    first: Chunk | None
    score: int
    rank: int | None


class Scores(NamedTuple):
    """The scores of one retriever for each question: hit (1 or 0) and reciprocal rank."""

    hits: Values
    reciprocal: Values


class Result(NamedTuple):
    """The result of one retriever.

    Attributes:
        left_out: number of questions whose passage is in no chunk.
        embedding: seconds to embed the chunks; None if they were embedded before.
        searching: seconds to search all questions.
    """

    config: RetrieverConfig
    chunks: int
    findings: list[Finding]
    left_out: int
    embedding: float | None
    searching: float

    @property
    def scores(self) -> Scores:
        """Return the scores of every question."""
        return Scores(
            np.array([finding.score for finding in self.findings], dtype=float),
            np.array([1 / finding.rank if finding.rank else 0.0 for finding in self.findings]),
        )

    def estimates(self, units: Units) -> dict[str, Estimate]:
        """Return hit@1, hit@5 and the mean reciprocal rank with their intervals."""
        early = [finding.rank is not None and finding.rank <= _EARLY for finding in self.findings]
        return {
            "hit_at_1": bootstrap_mean(self.scores.hits, units),
            "hit_at_5": bootstrap_mean(np.array(early, dtype=float), units),
            "reciprocal_rank": bootstrap_mean(self.scores.reciprocal, units),
        }

    @property
    def median_rank(self) -> float | None:
        """Return the median rank; None beyond the search depth."""
        median = float(np.median([finding.rank or np.inf for finding in self.findings]))
        return median if np.isfinite(median) else None

    def rows(self, samples: Sequence[Sample]) -> list[dict[str, Any]]:
        """Return the findings as rows, one for each question."""
        return [
            {
                "id": sample.id,
                "question": sample.question,
                "context": "\n\n".join(chunk.text for chunk in sample.contexts),
                "retrieved_content": finding.first.text if finding.first else "",
                "retrieved_id": finding.first.chunk_id if finding.first else "",
                "score": finding.score,
                "rank": finding.rank,
                "reciprocal_rank": round(1 / finding.rank, 6) if finding.rank else 0.0,
            }
            for sample, finding in zip(samples, self.findings, strict=True)
        ]


class Difference(NamedTuple):
    """The gain of retriever ``better`` over ``worse``, given as indices.

    Attributes:
        p: p-value corrected for all tests of the comparison.
        is_significant: whether p is below 0.05 and the interval of ``gain`` excludes zero.
        detectable: minimum detectable gain.
    """

    measure: str
    better: int
    worse: int
    gain: Estimate
    p: float
    is_significant: bool
    detectable: float


class Comparison(NamedTuple):
    """The results of all retrievers, the run's own first.

    Intervals resample ``units``: documents if ``by_document``, else questions. ``remarks`` are on existing stores;
    ``unanswerable`` questions are left out.
    """

    samples: list[Sample]
    results: list[Result]
    units: Units
    by_document: bool
    differences: list[Difference]
    remarks: list[str]
    unanswerable: int = 0

    @property
    def documents(self) -> int:
        """Return the number of documents that the questions use."""
        return len({sample.contexts[0].doc_id for sample in self.samples})


def compare(
    run: Run, configs: Sequence[RetrieverConfig], options: SearchOptions, *, monitor: SearchMonitor
) -> Comparison:
    """Search the questions of a run with every retriever; the first is the run's own.

    Raises:
        InputError: the run's embedder now has other weights, a chunker leaves no chunk, an existing store cannot be
            searched, or no question is answerable.
        DamagedRunError: the vectors of the run do not have the dimension of its embedder.
    """
    left_out = sum(not sample.answerable for sample in run.samples)
    run = run.only(index for index, sample in enumerate(run.samples) if sample.answerable)
    if not run.samples:
        raise InputError(f"{run.folder}: every question is unanswerable, so there is nothing to be found")
    samples = list(run.samples)
    search = RetrieverSearch(run, configs, options, monitor)
    known = {chunk.chunk_id: chunk for chunk in run.chunks}
    passages = [source_passages(sample, known) for sample in samples]
    # Existing stores first, so that a wrong one is reported before the work starts.
    first = sorted(configs, key=lambda config: config.store is None)
    measured = {config: _measure(config, search, passages) for config in first}
    results = [measured[config] for config in configs]
    units, by_document = resampling_units([sample.contexts[0].doc_id for sample in samples])
    found = differences([result.scores for result in results], units)
    return Comparison(samples, results, units, by_document, found, search.remarks, left_out)


def differences(scores: Sequence[Scores], units: Units) -> list[Difference]:
    """Compare all pairs of retrievers."""
    found = []
    for one, other in combinations(range(len(scores)), 2):
        before, after = scores[one], scores[other]
        gains = after.hits - before.hits
        found.append((HIT, one, other, gains, mcnemar(gains)))
        p = permutation(before.reciprocal, after.reciprocal, units)
        found.append((RECIPROCAL, one, other, after.reciprocal - before.reciprocal, p))
    corrected = []
    for (measure, one, other, gains, _), p in zip(found, holm([p for *_, p in found]), strict=True):
        better, worse = (other, one) if gains.sum() >= 0 else (one, other)
        gain = bootstrap_mean(gains if better == other else -gains, units, lowest=-1.0)
        least = detectable_gain(gain, len(gains), len(found), counted=measure == HIT)
        corrected.append(Difference(measure, better, worse, gain, p, p < ALPHA and gain.low > 0, least))
    return corrected


def _measure(config: RetrieverConfig, search: RetrieverSearch, passages: Sequence[Groups]) -> Result:
    chunks = search.chunks(config)
    searched = search.search(config)
    finder = PassageFinder(chunks)
    relevant = [[frozenset().union(*map(finder.find, group)) for group in groups] for groups in passages]
    findings = [_finding(chunks, row, groups) for row, groups in zip(searched.rankings, relevant, strict=True)]
    left_out = sum(not all(groups) for groups in relevant)
    return Result(config, len(chunks), findings, left_out, searched.embedding, searched.searching)


def _finding(chunks: Sequence[Chunk], indices: Sequence[int], groups: Sequence[frozenset[int]]) -> Finding:
    ranks = [next((rank for rank, index in enumerate(indices, 1) if index in group), None) for group in groups]
    found = [rank for rank in ranks if rank is not None]
    return Finding(
        first=chunks[indices[0]] if indices else None,
        score=int(bool(indices) and any(indices[0] in group for group in groups)),
        rank=max(found) if len(found) == len(ranks) else None,
    )
