"""Output of commands: tables, JSON, samples, review reports, and checks of output files."""
