"""Runs: one folder, one SQLite file, every step committed as it happens, resumable at any moment.

``groundset.runs.config.make_config`` and ``groundset.runs.generation.run_generation`` make a run,
``groundset.runs.store.RunStore.read`` reads one. Nothing is imported here: DSPy and torch come with the second.
"""
