"""Dense retrieval: cosine similarity of embeddings."""

from groundset.retrieval_eval.retrievers.base import Ranking, RetrieverKind, SearchTask


def search_dense(task: SearchTask, depth: int) -> list[Ranking]:
    """Rank by cosine similarity."""
    return task.dense(depth)


RETRIEVER = RetrieverKind("dense", search_dense)
