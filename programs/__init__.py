"""How steps compose: ``dspy.Module`` classes, recipes and the types they speak in."""
