"""The label column: what its cells mean, and how answers are spelled in it."""
