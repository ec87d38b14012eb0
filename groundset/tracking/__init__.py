"""Tracking of runs and compiles in MLflow; tracking a run imports nothing of compiling."""
