"""Reviewing runs: a page on this machine where people sign, refuse and mend samples, and what their reviews come to."""
