"""Retrieval: the embedder and the index over a run's chunks."""
