"""What each step asks: ``dspy.Signature`` classes, and nothing else."""
