"""How steps compose: ``dspy.Module`` classes, recipes and their types."""
