"""Tracking of runs and compiles in MLflow; run tracking does not import compiling."""
