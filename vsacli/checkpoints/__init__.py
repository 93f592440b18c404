"""Checkpoints: folders with config.json, model.safetensors and README.md (the card)."""
