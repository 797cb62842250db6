"""What memory a process may still take, from files as the kernel writes them."""

from __future__ import annotations

import os
import resource
from typing import TYPE_CHECKING

import pytest

from netloom.engines.memory import available_bytes

if TYPE_CHECKING:
    from pathlib import Path

MEMINFO = "MemTotal:       24000000 kB\nMemFree:  1000 kB\nMemAvailable:   20000000 kB\n"
MIB = 1 << 20


@pytest.fixture(autouse=True)
def unlimited(monkeypatch: pytest.MonkeyPatch) -> None:
    infinite = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
    monkeypatch.setattr(resource, "getrlimit", lambda _which: infinite)


def machine(root: Path, groups: str, files: dict[str, str]) -> Path:
    for name, text in {"proc/meminfo": MEMINFO, "proc/self/cgroup": groups, **files}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def test_a_machine_without_limits_has_what_is_available(tmp_path: Path) -> None:
    assert available_bytes(machine(tmp_path, "0::/\n", {})) == 20_000_000 * 1024


def test_a_group_of_version_2_leaves_its_limit_less_what_is_used_and_not_cache(
    tmp_path: Path,
) -> None:
    # 1000 MiB less 600, of which 100 are pages that the kernel gives back.
    inside = "sys/fs/cgroup/user/job/"
    files = {
        inside + "memory.max": f"{1000 * MIB}\n",
        inside + "memory.current": f"{600 * MIB}\n",
        inside + "memory.stat": f"anon 5\ninactive_file {100 * MIB}\n",
        "sys/fs/cgroup/user/memory.max": "max\n",
        "sys/fs/cgroup/user/memory.current": "0\n",
    }
    assert available_bytes(machine(tmp_path, "0::/user/job\n", files)) == 500 * MIB


def test_a_group_further_up_counts_as_well(tmp_path: Path) -> None:
    files = {
        "sys/fs/cgroup/user/job/memory.max": f"{1000 * MIB}\n",
        "sys/fs/cgroup/user/job/memory.current": "0\n",
        "sys/fs/cgroup/user/memory.max": f"{300 * MIB}\n",
        "sys/fs/cgroup/user/memory.current": f"{50 * MIB}\n",
    }
    assert available_bytes(machine(tmp_path, "0::/user/job\n", files)) == 250 * MIB


def test_a_group_of_version_1_is_read_too(tmp_path: Path) -> None:
    inside = "sys/fs/cgroup/memory/job/"
    files = {
        inside + "memory.limit_in_bytes": f"{800 * MIB}\n",
        inside + "memory.usage_in_bytes": f"{300 * MIB}\n",
    }
    groups = "3:cpu:/elsewhere\n4:memory:/job\n"
    assert available_bytes(machine(tmp_path, groups, files)) == 500 * MIB


def test_the_address_space_is_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _which: (900 * MIB, 900 * MIB))
    page = os.sysconf("SC_PAGE_SIZE")
    root = machine(tmp_path, "", {"proc/self/statm": f"{400 * MIB // page} 10 10\n"})
    assert available_bytes(root) == 500 * MIB


def test_nothing_is_left_where_a_limit_is_passed(tmp_path: Path) -> None:
    files = {"sys/fs/cgroup/memory.max": "5\n", "sys/fs/cgroup/memory.current": "9\n"}
    assert available_bytes(machine(tmp_path, "0::/\n", files)) == 0
