"""Run language models: the embedded engine, the plain-text adapter and the call journal."""
