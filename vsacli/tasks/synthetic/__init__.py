"""Synthetic tasks: the random prior and the paper's Circle-Spiral data."""
