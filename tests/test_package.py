"""The package itself: its public names, and what importing it costs."""

from __future__ import annotations

import subprocess
import sys


def test_the_package_is_light_until_something_is_used():
    code = """
import sys, vsacli
heavy = {"torch", "sklearn", "pandas", "pyarrow", "numpy"} & set(sys.modules)
assert not heavy, heavy
assert set(vsacli.__all__) <= set(dir(vsacli))
assert issubclass(vsacli.VsaError, Exception)
from vsacli import VSAClassifier, load_checkpoint
assert not {"torch"} & set(sys.modules)
try:
    vsacli.nothing
except AttributeError as e:
    print(e)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert done.stdout.strip() == "module 'vsacli' has no attribute 'nothing'"


def test_star_import_has_the_public_names():
    import vsacli

    assert {name for name in vsacli.__all__ if not hasattr(vsacli, name)} == set()
