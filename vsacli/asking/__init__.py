"""A person is asked for labels, row by row: which row, what is shown of it, what was typed, where answers are kept."""
