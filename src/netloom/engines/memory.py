"""How much memory this process may still take."""

from __future__ import annotations

import os
import resource
from pathlib import Path

__all__ = ["available_bytes"]

_ROOT = Path("/")


def available_bytes(root: Path = _ROOT) -> int:
    """Return the least of what the machine, the control group and the address space leave.

    Args:
        root: Where ``proc`` and ``sys`` are; the machine's own by default.
    """
    found = [_of_machine(root), *_of_groups(root), *_of_address_space(root)]
    return max(min(found), 0)


def _of_machine(root: Path) -> int:
    """Return what can be had without swapping: MemAvailable of proc(5), or all memory."""
    for line in _text(root / "proc/meminfo").splitlines():
        name, _, rest = line.partition(":")
        if name == "MemAvailable":
            return int(rest.split()[0]) * 1024
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _of_groups(root: Path) -> list[int]:
    """Return what each control group on the way to this process leaves, of either version.

    Page cache counts against a group's limit and is given back when memory is short.
    """
    found = []
    for line in _text(root / "proc/self/cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers not in {"", "memory"}:
            continue
        version = 1 if controllers else 2
        top = root / "sys/fs/cgroup" / controllers
        inside = Path(path.lstrip("/"))
        found += [_of_group(top / folder, version) for folder in (inside, *inside.parents)]
    return [left for left in found if left is not None]


def _of_group(folder: Path, version: int) -> int | None:
    names = {
        1: ("memory.limit_in_bytes", "memory.usage_in_bytes"),
        2: ("memory.max", "memory.current"),
    }
    limit, used = (_text(folder / name).strip() for name in names[version])
    if not limit.isdigit() or not used.isdigit():
        return None
    cached = 0
    for line in _text(folder / "memory.stat").splitlines():
        name, _, value = line.partition(" ")
        if name in {"inactive_file", "total_inactive_file"}:
            cached = max(cached, int(value))
    return int(limit) - int(used) + cached


def _of_address_space(root: Path) -> list[int]:
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    pages = _text(root / "proc/self/statm").split()
    if limit == resource.RLIM_INFINITY or not pages:
        return []
    return [limit - int(pages[0]) * os.sysconf("SC_PAGE_SIZE")]


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""
