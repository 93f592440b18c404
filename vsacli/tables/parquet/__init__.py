"""Parquet files, written back with all that is not filled copied."""
