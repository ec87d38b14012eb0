"""Hybrid retrieval: dense and BM25 rankings joined by reciprocal rank fusion.

Cormack, Clarke and Büttcher, "Reciprocal Rank Fusion outperforms Condorcet and individual Rank Learning Methods" (SIGIR
2009): a chunk scores 1 / (60 + rank) in each ranking that has it.
"""

from collections import defaultdict
from collections.abc import Sequence

from groundset.retrieval_eval.retrievers.base import Corpus, Ranking, Retriever
from groundset.retrieval_eval.retrievers.bm25 import search_bm25

_CONSTANT = 60


def search_hybrid(corpus: Corpus, depth: int) -> list[Ranking]:
    """Rank by the joined rankings."""
    rankings = zip(corpus.dense(depth), search_bm25(corpus, depth), strict=True)
    return [fuse(pair, depth) for pair in rankings]


def fuse(rankings: Sequence[Ranking], depth: int) -> Ranking:
    """Join rankings by the reciprocals of their ranks; of equal chunks the one that the first ranking has earlier."""
    scores: defaultdict[int, float] = defaultdict(float)
    for ranking in rankings:
        for rank, place in enumerate(ranking, 1):
            scores[place] += 1 / (_CONSTANT + rank)
    return sorted(scores, key=lambda place: -scores[place])[:depth]


RETRIEVER = Retriever("hybrid", search_hybrid)
