"""A comparison as a record, and what to bear in mind when reading it."""

from typing import Any

from groundset.engine.config import RunConfig
from groundset.retrieval.index import SEARCH_DEPTH
from groundset.retrieval_eval.compare import Comparison
from groundset.retrieval_eval.differences import sentences
from groundset.retrieval_eval.settings import RetrievalSetting


def record(comparison: Comparison, config: RunConfig) -> dict[str, Any]:
    """Return a comparison as a JSON object; intervals are lists of a value and its bounds.

    ``differences`` name settings by their places. ``median_rank`` is None where it lies beyond the search depth,
    ``embedding_seconds`` for chunks that the run had embedded.
    """
    settings = [result.setting for result in comparison.results]
    return {
        "questions": len(comparison.samples),
        "documents": comparison.documents,
        "depth": SEARCH_DEPTH,
        "settings": [
            {
                "embedder": result.setting.embedder,
                "chunker": result.setting.chunker,
                "size": result.setting.size,
                "own": place == 0,
                "chunks": result.chunks,
                **{name: _rounded(figure) for name, figure in result.figures(comparison.units).items()},
                "median_rank": result.median_rank,
                "left_out": result.left_out,
                "embedding_seconds": None if result.embedding is None else round(result.embedding, 3),
                "searching_seconds": round(result.searching, 3),
            }
            for place, result in enumerate(comparison.results)
        ],
        "differences": [
            {**each._asdict(), "gain": _rounded(each.gain), "detectable": round(each.detectable, 4)}
            for each in comparison.differences
        ],
        "conclusions": conclusions(comparison),
        "notes": notes(comparison, settings, config),
    }


def conclusions(comparison: Comparison) -> list[str]:
    """Return one sentence for each real difference, and one for what cannot be told apart."""
    settings = [result.setting for result in comparison.results]
    return sentences(comparison.differences, settings, len(comparison.samples))


def notes(comparison: Comparison, settings: list[RetrievalSetting], config: RunConfig) -> list[str]:
    """Return how the figures were made, and what distorts them."""
    drawn = "documents" if comparison.by_document else "questions"
    said = [
        f"{len(comparison.samples)} questions about {comparison.documents} documents; "
        f"95 % intervals draw {drawn} anew; a rank beyond {SEARCH_DEPTH} counts as not found."
    ]
    if len(settings) == 1:
        return [*said, "Name other settings to compare with: --embedder, --chunk-size, --chunker."]
    kept_rank = getattr(config.options, "max_rank", 0)  # not every recipe refuses a question for its rank
    if kept_rank:
        said.append(
            f"The first row is flattered: the run kept only questions that found their chunk at rank "
            f"{kept_rank} or better under it. A run with --max-rank 0 compares fairly."
        )
    said += [
        f"{setting.chunker} at {setting.size} leaves out what {result.left_out} questions ask about; "
        "these count as not found."
        for setting, result in {
            (result.setting.chunker, result.setting.size): (result.setting, result) for result in comparison.results
        }.values()
        if result.left_out
    ]
    return said


def _rounded(figure: tuple[float, float, float]) -> list[float]:
    return [round(part, 4) for part in figure]
