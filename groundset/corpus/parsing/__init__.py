"""From the bytes of a file to its text, title and headings. What strangers made is parsed in child processes."""
