"""Evaluation sets on the Hugging Face Hub: parquet files, a dataset card, and where everything came from."""
