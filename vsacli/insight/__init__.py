"""A closer look at a labeling run: what to label next, what the answers depend on, and a report."""
