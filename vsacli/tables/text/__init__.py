"""Delimited text: from bytes to cells and back."""
