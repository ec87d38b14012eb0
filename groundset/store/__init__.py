"""The store: one folder and one SQLite file for each run, every step committed as it happens."""
