"""Compiling: labels and gold rows as trainsets, metrics, and optimizers of prompts, heads and
weights.
"""
