"""What is tracked in MLflow: runs, and compiles; a run needs nothing of what compiles do."""
