"""The structure of a whole table: a graph of nearest neighbours over all rows, labeled or not.

NumPy, SciPy and scikit-learn only. The network reads it beside the attributes (:mod:`vsacli.nn.structure`).
"""

from vsacli.structure.table import RowStructure, TableStructure

__all__ = ["RowStructure", "TableStructure"]
