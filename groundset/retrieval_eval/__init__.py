"""Comparing retrievers: the questions of a run, searched under other embedders, chunkers and sizes."""
