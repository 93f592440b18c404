"""The network applied to one table."""
