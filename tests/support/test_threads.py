"""Numerical libraries are held to one thread, those that are loaded late as well."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

CODE = """
from vsacli.support.threads import numpy_on_one_thread
import numpy
with numpy_on_one_thread():
    pass
import scipy.linalg
from threadpoolctl import threadpool_info
with numpy_on_one_thread():
    print(sorted(p["num_threads"] for p in threadpool_info() if p["internal_api"] == "openblas"))
"""


@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="there is one thread anyway")
def test_a_library_that_is_loaded_later_is_held_as_well() -> None:
    environment = {k: v for k, v in os.environ.items() if not k.endswith("_NUM_THREADS")}
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True, env=environment)
    assert done.stdout.strip() == "[1, 1]"
