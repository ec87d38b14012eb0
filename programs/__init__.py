"""DSPy modules that are called with text: recipes, judges, and what they are made of."""
