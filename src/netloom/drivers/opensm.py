"""OpenSM, the subnet manager of InfiniBand: its configuration, its process and its log.

OpenSM falls back to another routing engine without a word on its exit status: what it really
configured stands only in its log, so that is read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from netloom.drivers.programs import hang_up, is_running, read_tail, start, wait_for
from netloom.errors import LabError
from netloom.formats.infiniband.opensm import SmLog, SubnetManager, parse_log

if TYPE_CHECKING:
    from collections.abc import Mapping

    from netloom.drivers.programs import Running

__all__ = [
    "read_log",
    "reread",
    "start_manager",
    "wait_up",
]

MAX_LOG_BYTES: Final = 2**20  # the end of the log is enough


def reread(manager: SubnetManager, running: Running) -> int:
    """Let a manager read its files again, and return how long its log was before."""
    offset = manager.log.stat().st_size if manager.log.exists() else 0
    hang_up(running)
    return offset


def start_manager(manager: SubnetManager, *, env: Mapping[str, str]) -> Running:
    """Start OpenSM on its configuration, which must be there.

    Args:
        manager: Which.
        env: What leads it to its port, and the lab's mark.

    Raises:
        LabError: it is not installed, or cannot be started.
    """
    manager.log.unlink(missing_ok=True)
    own = {"OSM_CACHE_DIR": str(manager.folder), "OSM_TMP_DIR": str(manager.folder)}
    return start(
        ["opensm", "-F", str(manager.configuration)],
        env={**env, **own},
        cwd=manager.folder,
        output=manager.folder / "opensm.out",
    )


def read_log(manager: SubnetManager, *, offset: int = 0) -> SmLog:
    """Return what the log of a manager says from *offset* on, its last MiB."""
    return parse_log(read_tail(manager.log, offset=offset, most_bytes=MAX_LOG_BYTES))


def wait_up(
    manager: SubnetManager, running: Running, *, timeout_s: float = 300.0, offset: int = 0
) -> SmLog:
    """Return the log once the subnet is up, or the manager stands by for another.

    Args:
        manager: Which.
        running: Its process.
        timeout_s: How long to wait.
        offset: Look only at what was logged after this number of bytes: a change made since.

    Raises:
        LabError: it ended, cannot route the fabric with the engine that was asked for, or takes
            too long; the message has the last error it logged.
    """

    def settled() -> SmLog | None:
        log = read_log(manager, offset=offset)
        if log.num_sweeps or log.state == "standby" or log.has_failed:
            return log
        return None if is_running(running.pid, running.started) else log

    log = wait_for(settled, timeout_s=timeout_s)
    if log is not None and not log.has_failed and (log.num_sweeps or log.state == "standby"):
        return log
    raise LabError(_trouble(manager, log, timeout_s))


def _trouble(manager: SubnetManager, log: SmLog | None, timeout_s: float) -> str:
    if log is None:
        what = f"has no subnet up after {timeout_s:g} s"
    elif log.has_failed:
        what = "cannot route this fabric with the engine asked for; choose another with --routing"
    else:
        what = "ended before the subnet was up"
    found = (log or read_log(manager)).errors
    last = f"; its last error: {found[-1]}" if found else ""
    return f"OpenSM {what}{last} (log: {manager.log})"
