"""BM25 over words, with the weights of Lucene.

Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009), with k1 = 1.5 and b = 0.75, by
the library bm25s. Words are runs of letters and digits in lower case, without stemming or stop
words, so that all languages are treated alike.
"""

import re
from collections.abc import Sequence
from typing import Any

from groundset.retrieval_eval.retrievers.base import Ranking, RetrieverKind, SearchTask

_WORD = re.compile(r"\w+")


def search_bm25(task: SearchTask, depth: int) -> list[Ranking]:
    """Rank by BM25; chunks that share no word with the question are left out."""
    import bm25s

    index = bm25s.BM25(method="lucene")
    words = [_words(text) for text in task.texts]
    if not any(words):
        return [[] for _ in task.questions]
    index.index(words, show_progress=False)
    known = {word for text in words for word in text}
    return [_best(index, [word for word in _words(text) if word in known], depth) for text in task.questions]


def _best(index: Any, words: Sequence[str], depth: int) -> Ranking:
    import numpy as np

    if not words:
        return []
    scores = index.get_scores(list(words))
    order = np.argsort(-scores, kind="stable")[:depth]  # ties in the order of the chunks
    return [int(chunk) for chunk in order if scores[chunk] > 0]


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


RETRIEVER = RetrieverKind("bm25", search_bm25, embeds=False)
