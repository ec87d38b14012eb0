"""Compiling weights: a low-rank adapter for a local model, trained on gold rows (LoRA, Hu et al. 2021)."""
