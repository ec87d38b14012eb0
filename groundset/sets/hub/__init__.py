"""Publish evaluation sets on the Hugging Face Hub: Parquet files, a dataset card and provenance."""
