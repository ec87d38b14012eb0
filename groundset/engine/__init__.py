"""The engine: makes a run attempt by attempt, and continues one that was stopped.

``groundset.engine.config.make_config`` and ``groundset.engine.generation.run_generation`` make a run. Nothing is
imported here: DSPy and torch come with the second.
"""
