"""Reading a run: a page on this machine where people sign, refuse and mend samples, and what comes of it."""
