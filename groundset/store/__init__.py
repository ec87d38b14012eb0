"""Storage of runs: a folder with an SQLite file, its summary and the reviews."""
