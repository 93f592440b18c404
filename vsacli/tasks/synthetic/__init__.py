"""Tasks that are made, not found: the random prior and the paper's Circle-Spiral data."""
