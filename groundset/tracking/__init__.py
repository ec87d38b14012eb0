"""Tracking of runs and compiles in MLflow."""
