"""Checkpoints on the Hugging Face Hub and in its cache."""
