"""A comparison of retrievers as JSON types, as sentences, and with what to bear in mind when reading it."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from groundset.engine.config import RunConfig
from groundset.retrieval.index import SEARCH_DEPTH
from groundset.retrieval_eval.compare import HIT, RECIPROCAL, Comparison, Difference
from groundset.retrieval_eval.configs import DENSE, RetrieverConfig
from groundset.stats import Estimate, p_text


def to_dict(comparison: Comparison, config: RunConfig) -> dict[str, Any]:
    """Return a comparison as JSON types; intervals are lists of a value and its bounds.

    ``differences`` name retrievers by their places. ``median_rank`` is None where it lies beyond the search depth,
    ``embedding_seconds`` for chunks that the run had embedded.
    """
    return {
        "questions": len(comparison.samples),
        "documents": comparison.documents,
        "depth": SEARCH_DEPTH,
        "settings": [
            {
                "retriever": result.config.retriever,
                "embedder": result.config.embedder or None,
                "chunker": result.config.chunker,
                "size": result.config.size,
                "own": place == 0,
                "chunks": result.chunks,
                **{name: _rounded(estimate) for name, estimate in result.estimates(comparison.units).items()},
                "median_rank": result.median_rank,
                "left_out": result.left_out,
                "embedding_seconds": None if result.embedding is None else round(result.embedding, 3),
                "searching_seconds": round(result.searching, 3),
            }
            for place, result in enumerate(comparison.results)
        ],
        "differences": [
            {**found._asdict(), "gain": _rounded(found.gain), "detectable": round(found.detectable, 4)}
            for found in comparison.differences
        ],
        "conclusions": conclusions(comparison),
        "notes": notes(comparison, config),
    }


def conclusions(comparison: Comparison) -> list[str]:
    """Return one sentence for each real difference, and one for those that cannot be detected."""
    configs = [result.config for result in comparison.results]
    return sentences(comparison.differences, configs, len(comparison.samples))


def sentences(found: Sequence[Difference], configs: Sequence[RetrieverConfig], questions: int) -> list[str]:
    """Return one sentence for each pair of retrievers with a real difference, and one for all other pairs."""
    real: dict[tuple[int, int], list[str]] = {}
    for each in found:
        if each.is_real:
            figure = f"{each.measure} +{each.gain}, {p_text(each.p)}"
            real.setdefault((each.better, each.worse), []).append(figure)
    lines = [
        f"{_name(configs[better], configs)} finds more than "
        f"{_name(configs[worse], configs, configs[better])}: {'; '.join(figures)}; n={questions}."
        for (better, worse), figures in real.items()
    ]
    pairs = {frozenset(pair) for pair in real}
    if unreal := [each for each in found if frozenset((each.better, each.worse)) not in pairs]:
        least = {
            measure: float(np.median([each.detectable for each in unreal if each.measure == measure]))
            for measure in (HIT, RECIPROCAL)
        }
        needed = " or ".join(f"{value:.2f} in {measure}" for measure, value in least.items() if value < 1)
        lines.append(
            f"No {'other ' if lines else ''}difference can be told apart with n={questions}; "
            + (f"it would take one of about {needed}." if needed else "it takes more questions to see any.")
        )
    return lines


def notes(comparison: Comparison, config: RunConfig) -> list[str]:
    """Return how the figures were made, and what distorts them."""
    drawn = "documents" if comparison.by_document else "questions"
    found = [
        f"{len(comparison.samples)} questions about {comparison.documents} documents; "
        f"95 % intervals draw {drawn} anew; a rank beyond {SEARCH_DEPTH} counts as not found."
    ]
    if len(comparison.results) == 1:
        return [*found, "Name others to compare with: --retriever, --embedder, --chunk-size, --chunker, --ranking."]
    kept_rank = getattr(config.options, "max_rank", 0)  # not every recipe refuses a question for its rank
    if kept_rank:
        found.append(
            f"The first row is flattered: the run kept only questions that found their chunk at rank "
            f"{kept_rank} or better under it. A run with --max-rank 0 compares fairly."
        )
    cuts = {(result.config.chunker, result.config.size): result.left_out for result in comparison.results}
    return found + [
        f"{chunker} at {size} leaves out what {left_out} questions ask about; these count as not found."
        for (chunker, size), left_out in cuts.items()
        if left_out
    ]


def _name(config: RetrieverConfig, configs: Sequence[RetrieverConfig], beside: RetrieverConfig | None = None) -> str:
    """Name a retriever by what differs from the others, or from the one named before it."""
    others = [beside] if beside else configs
    parts = []
    if not beside or (beside.retriever, beside.embedder) != (config.retriever, config.embedder):
        is_dense = config.retriever == DENSE
        parts.append(config.embedder if is_dense else config.retriever)
        if config.embedder and not is_dense and len({other.embedder for other in configs if other.embedder}) > 1:
            parts.append(f"of {config.embedder}")
    if any(other.chunker != config.chunker for other in others):
        parts.append(f"with the {config.chunker} chunker" if config.options else f"on {config.chunker}")
    if config.size and any(other.size != config.size for other in others):
        parts.append(f"at {config.size}")
    return " ".join(parts)


def _rounded(estimate: Estimate) -> list[float]:
    return [round(part, 4) for part in estimate]
