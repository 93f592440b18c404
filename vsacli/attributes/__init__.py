"""Columns of a table as the numbers that the network reads."""
