"""Import, export and transform evaluation sets, and publish them on the Hugging Face Hub."""
