"""Running language models: the embedded engine, the plain-text adapter, the call journal."""
