"""Fine-tuning a local model with a low-rank adapter (LoRA, Hu et al. 2021)."""
