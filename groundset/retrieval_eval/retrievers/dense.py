"""Dense retrieval: cosine similarity of embeddings."""

from groundset.retrieval_eval.retrievers.base import Corpus, Ranking, Retriever


def search_dense(corpus: Corpus, depth: int) -> list[Ranking]:
    """Rank by cosine similarity."""
    return corpus.dense(depth)


RETRIEVER = Retriever("dense", search_dense)
