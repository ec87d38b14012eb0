"""Comparison of retrievers on the questions of a run: embedders, chunkers and chunk sizes."""
