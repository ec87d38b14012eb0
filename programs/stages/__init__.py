"""Stages: the ``dspy.Module`` classes that make up recipes; their predictors are attributes named after steps."""
