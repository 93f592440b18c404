"""The main job: the missing labels of a table, or of a folder of Parquet parts, filled in."""

from vsacli.labeling.job import LabelOptions
from vsacli.labeling.run import label_table

__all__ = ["LabelOptions", "label_table"]
