"""Embeddings, search, and the comparison of retrievers."""
