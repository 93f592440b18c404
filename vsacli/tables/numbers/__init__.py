"""Numbers as people write them in cells: the one grammar and parser for attributes and labels."""
