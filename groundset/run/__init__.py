"""Making a run and reading it."""
