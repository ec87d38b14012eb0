"""Parsers of file formats: bytes to text, title, headings, pages and captions."""
