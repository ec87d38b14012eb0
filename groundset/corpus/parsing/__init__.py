"""From the bytes of a file to its text, title and headings; untrusted files are parsed in child processes."""
