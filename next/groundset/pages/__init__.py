"""Pages for people: the report and the review."""
