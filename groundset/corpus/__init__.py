"""Turn documents into chunks: find files, parse, chunk, drop duplicates and draw."""
