"""Hybrid retrieval: reciprocal rank fusion of dense and BM25 rankings.

Cormack, Clarke and Büttcher, "Reciprocal Rank Fusion outperforms Condorcet and individual Rank Learning Methods" (SIGIR
2009): a chunk scores 1 / (60 + rank) in each ranking that has it.
"""

from collections import defaultdict
from collections.abc import Sequence

from groundset.retrieval_eval.retrievers.base import Ranking, RetrieverKind, SearchTask
from groundset.retrieval_eval.retrievers.bm25 import search_bm25

_CONSTANT = 60


def search_hybrid(task: SearchTask, depth: int) -> list[Ranking]:
    """Rank by both rankings."""
    rankings = zip(task.dense(depth), search_bm25(task, depth), strict=True)
    return [fuse(pair, depth) for pair in rankings]


def fuse(rankings: Sequence[Ranking], depth: int) -> Ranking:
    """Fuse rankings by reciprocal ranks; ties keep the order of the first ranking."""
    scores: defaultdict[int, float] = defaultdict(float)
    for ranking in rankings:
        for rank, index in enumerate(ranking, 1):
            scores[index] += 1 / (_CONSTANT + rank)
    return sorted(scores, key=lambda index: -scores[index])[:depth]


RETRIEVER = RetrieverKind("hybrid", search_hybrid)
