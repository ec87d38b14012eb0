"""Sets in and out: exports, imports, the Hugging Face Hub."""
