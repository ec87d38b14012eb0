"""Reports: the quality figures of a run as an HTML page, and comparisons of runs."""
