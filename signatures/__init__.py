"""What each step asks: one ``dspy.Signature`` in each module, and nothing else."""
