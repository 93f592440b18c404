"""Meta-training: Algorithm 1 of the paper as a loop that can be stopped and resumed."""
