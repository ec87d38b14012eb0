"""Evaluation sets: formats that they come in and go out as, changes to them, and the Hugging Face Hub."""
