"""Reviewing runs: a local page where people sign, refuse and correct samples, and review statistics."""
