"""vsa: fill in the missing labels of a table from a handful of given ones."""

__version__ = "0.1.0"
