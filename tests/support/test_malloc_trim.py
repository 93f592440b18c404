"""Free memory goes back to the system."""

from __future__ import annotations

import ctypes
import subprocess
import sys

import pytest

from vsacli.support import malloc_trim

# Frees all but the last of many blocks, which keeps the heap from getting shorter; prints the memory taken, in MB.
GAPS = """
from vsacli.support.malloc_trim import give_back_free_memory
def taken():
    return int(open("/proc/self/statm").read().split()[1]) * 4096 / 1e6
blocks = [b"x" * 60_000 for _ in range(4000)]
last = blocks[-1]
blocks.clear()
print(taken())
give_back_free_memory()
print(taken())
"""


@pytest.mark.skipif(malloc_trim._malloc_trim() is None or sys.platform != "linux", reason="no glibc")
def test_gaps_in_the_heap_are_given_back() -> None:
    done = subprocess.run([sys.executable, "-c", GAPS], capture_output=True, text=True, check=True)
    before, after = map(float, done.stdout.split())
    assert before > 200
    assert before - after > 200


def test_another_c_library(monkeypatch: pytest.MonkeyPatch) -> None:
    class Other:
        def __init__(self, name: None) -> None:
            pass

    monkeypatch.setattr(ctypes, "CDLL", Other)
    malloc_trim._malloc_trim.cache_clear()
    assert malloc_trim._malloc_trim() is None
    malloc_trim.give_back_free_memory()
    malloc_trim._malloc_trim.cache_clear()
