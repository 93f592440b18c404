"""What all rows of a table together say of each row, labeled or not: a graph of neighbours, and what follows from it.

NumPy, SciPy and scikit-learn only. The network reads it beside the attributes (:mod:`vsacli.nn.structure`).
"""

from vsacli.structure.table import RowStructure, TableStructure

__all__ = ["RowStructure", "TableStructure"]
