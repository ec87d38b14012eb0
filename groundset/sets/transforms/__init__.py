"""Transforms: make a new run from one or more runs."""
