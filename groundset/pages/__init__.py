"""Pages of a run: its report, the review of its samples in a browser, and labels from reviews."""
