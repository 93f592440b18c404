"""How much memory is free, so that what cannot fit is refused in one line before the system ends the process."""

from __future__ import annotations

import os
from pathlib import Path

_CGROUP = Path("/sys/fs/cgroup")


def free_memory() -> int | None:
    """Bytes that this process may still take: the least of what the machine, a container and `ulimit -v` leave.

    Returns
    -------
    int or None
        None if the system does not say.
    """
    rooms = [room for room in (_of_machine(), _of_container(), free_addresses()) if room is not None]
    return max(min(rooms), 0) if rooms else None


def _of_machine() -> int | None:
    for line in _text(Path("/proc/meminfo")).splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return None


def _of_container() -> int | None:
    limit, used = _text(_CGROUP / "memory.max").strip(), _text(_CGROUP / "memory.current").strip()
    if not (limit.isdecimal() and used.isdecimal()):
        return None
    fields = (line.split() for line in _text(_CGROUP / "memory.stat").splitlines())
    reclaimable = sum(int(number) for name, number in fields if name == "inactive_file")
    return int(limit) - int(used) + reclaimable


def free_addresses() -> int | None:
    """Bytes of addresses that `ulimit -v` leaves to this process; None if there is no limit."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    pages = _text(Path("/proc/self/statm")).split()
    if limit == resource.RLIM_INFINITY or not pages:
        return None
    return limit - int(pages[0]) * os.sysconf("SC_PAGE_SIZE")


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""


def spelled(size: float) -> str:
    """A number of bytes for people: 1.5 GB, 12 MB."""
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{max(size / 1e6, 1):.0f} MB"
