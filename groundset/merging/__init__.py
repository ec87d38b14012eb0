"""Several runs as one: their corpora joined, each question once, every round trip measured anew."""
