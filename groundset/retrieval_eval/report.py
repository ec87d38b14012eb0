"""A comparison of retrievers as JSON types, conclusions and notes."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from groundset.engine.config import RunConfig
from groundset.progress import counted
from groundset.retrieval.index import SEARCH_DEPTH
from groundset.retrieval_eval.compare import HIT, RECIPROCAL, Comparison, Difference
from groundset.retrieval_eval.configs import DENSE, RetrieverConfig
from groundset.stats import Estimate, p_text


def to_dict(comparison: Comparison, config: RunConfig) -> dict[str, Any]:
    """Return a comparison as JSON types; estimates are lists of a value and the bounds of its interval."""
    return {
        "questions": len(comparison.samples),
        "documents": comparison.documents,
        "depth": SEARCH_DEPTH,
        "settings": [
            {
                "retriever": result.config.retriever,
                "embedder": result.config.embedder or None,
                "reranker": result.config.reranker or None,
                "chunker": result.config.chunker,
                "size": result.config.size,
                "own": index == 0,
                "chunks": result.chunks,
                **{name: _rounded(estimate) for name, estimate in result.estimates(comparison.units).items()},
                "median_rank": result.median_rank,
                "left_out": result.left_out,
                "embedding_seconds": None if result.embedding is None else round(result.embedding, 3),
                "searching_seconds": round(result.searching, 3),
            }
            for index, result in enumerate(comparison.results)
        ],
        "differences": [
            {
                "measure": found.measure,
                "better": found.better,
                "worse": found.worse,
                "gain": _rounded(found.gain),
                "p": found.p,
                "is_real": found.is_significant,
                "detectable": round(found.detectable, 4),
            }
            for found in comparison.differences
        ],
        "conclusions": conclusions(comparison),
        "notes": notes(comparison, config),
    }


def conclusions(comparison: Comparison) -> list[str]:
    """Return one sentence for each pair of retrievers with a significant difference, and one for all other pairs."""
    configs = [result.config for result in comparison.results]
    return sentences(comparison.differences, configs, len(comparison.samples))


def sentences(found: Sequence[Difference], configs: Sequence[RetrieverConfig], questions: int) -> list[str]:
    """Return the conclusions for these differences between ``configs``."""
    significant: dict[tuple[int, int], list[str]] = {}
    for difference in found:
        if difference.is_significant:
            figure = f"{difference.measure} +{difference.gain}, {p_text(difference.p)}"
            significant.setdefault((difference.better, difference.worse), []).append(figure)
    lines = [
        f"{_name(configs[better], configs)} is better than "
        f"{_name(configs[worse], configs, configs[better])}: {'; '.join(figures)}; n={questions}."
        for (better, worse), figures in significant.items()
    ]
    pairs = {frozenset(pair) for pair in significant}
    if others := [other for other in found if frozenset((other.better, other.worse)) not in pairs]:
        least = {
            measure: float(np.median([other.detectable for other in others if other.measure == measure]))
            for measure in (HIT, RECIPROCAL)
        }
        needed = " or ".join(f"{value:.2f} in {measure}" for measure, value in least.items() if value < 1)
        lines.append(
            f"No {'other ' if lines else ''}significant differences with n={questions}; "
            + (f"minimum detectable difference: {needed}." if needed else "more questions are needed to detect any.")
        )
    return lines


def notes(comparison: Comparison, config: RunConfig) -> list[str]:
    """Return notes on the method and its biases."""
    drawn = "documents" if comparison.by_document else "questions"
    found = [
        f"{len(comparison.samples)} questions about {comparison.documents} documents; "
        f"95 % intervals resample {drawn}; ranks beyond {SEARCH_DEPTH} count as not found."
    ]
    if comparison.unanswerable:
        found.append(f"{counted(comparison.unanswerable, 'unanswerable question')} left out.")
    if len(comparison.results) == 1:
        return [*found, "Add retrievers to compare with --retriever, --embedder, --chunk-size, --chunker or --ranking."]
    max_rank = getattr(config.options, "max_rank", 0)  # not an option of all recipes
    if max_rank:
        found.append(
            f"The first row is biased: the run kept only questions whose chunk it found at rank {max_rank} or better. "
            "For a fair comparison use a run with --max-rank 0."
        )
    found += comparison.remarks
    left_out = {(result.config.chunker, result.config.size): result.left_out for result in comparison.results}
    return found + [
        f"{chunker} at {size} omits the passages of {count} questions; these count as not found."
        for (chunker, size), count in left_out.items()
        if count
    ]


def _name(config: RetrieverConfig, configs: Sequence[RetrieverConfig], beside: RetrieverConfig | None = None) -> str:
    """Name a retriever by its differences from ``beside``, or from all others."""
    others = [beside] if beside else configs
    parts = []
    if not beside or (beside.retriever, beside.embedder) != (config.retriever, config.embedder):
        is_dense = config.retriever == DENSE
        parts.append(config.embedder if is_dense else config.retriever)
        if config.embedder and not is_dense and len({other.embedder for other in configs if other.embedder}) > 1:
            parts.append(f"of {config.embedder}")
    if any(other.reranker != config.reranker for other in others):
        parts.append(f"reranked by {config.reranker}" if config.reranker else "without reranking")
    if any(other.chunker != config.chunker for other in others):
        parts.append(f"with the {config.chunker} chunker" if config.options else f"on {config.chunker}")
    if config.size and any(other.size != config.size for other in others):
        parts.append(f"at {config.size}")
    return " ".join(parts)


def _rounded(estimate: Estimate) -> list[float]:
    return [round(part, 4) for part in estimate]
