"""Retrieval: the embedder, vector stores and the index over a run's chunks."""
