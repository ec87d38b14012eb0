"""Parse the bytes of a file into text, title and headings; runs in child processes because files are untrusted."""
