"""A model on a server, through DSPy's own client (being written)."""
