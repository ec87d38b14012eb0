"""The programs that make samples: steps, stages, recipes, critics, and their types."""
