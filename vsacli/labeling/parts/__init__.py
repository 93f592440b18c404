"""A table that lies in a folder of Parquet parts, labeled part by part with one labeled context.

folder.py   which files are parts, and whether they fit together; the folder that they go to
survey.py   one pass over the target column of all parts: what is labeled, what is missing
plan.py     everything that labeling a part needs: encoder, labeled rows, network; a function of folder and options
work.py     one part, labeled and written
record.py   which parts are finished, so that an interrupted run can resume
engines.py  parts one after the other, or in several processes       rayengine.py   on Ray
run.py      all of it
"""
