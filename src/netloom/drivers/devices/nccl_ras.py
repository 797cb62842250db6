"""NCCL's RAS by its TCP port, which every process of a job opens on its host."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from netloom.drivers.devices.streams import Deadline, connected
from netloom.errors import LabError
from netloom.formats.nccl.ras import parse_status, report_of
from netloom.ops.observe.devices import printable

if TYPE_CHECKING:
    from netloom.drivers.devices.streams import Stream
    from netloom.formats.nccl.ras import RasStatus
    from netloom.ops.observe.devices import DeviceAccess, DeviceReport

__all__ = ["RasPort"]

PORT: Final = 28028  # NCCL_RAS_ADDR's default
MAX_BYTES: Final = 256 * 2**20  # 16,384 ranks in 20 communicators are some 150 MB of JSON


class RasPort:
    """The port of one job, asked again and again."""

    def __init__(self, access: DeviceAccess) -> None:
        self._access = access
        self._before: RasStatus | None = None

    def look(self) -> DeviceReport:
        """Return what RAS says of the job's ranks, compared with the look before.

        Raises:
            LabError: it does not answer in time, or is no RAS.
        """
        now = parse_status(self._ask())
        report = report_of(now, self._before)
        self._before = now
        return report

    def _ask(self) -> str:
        deadline = Deadline(self._access.deadline_s)
        with connected(self._access, port=PORT, max_bytes=MAX_BYTES, deadline=deadline) as stream:
            said = _answer(stream, "CLIENT PROTOCOL 2")
            if not said.startswith("SERVER PROTOCOL"):
                raise LabError(
                    what=f"{self._access.name}: no RAS of NCCL answers ({printable(said)})",
                    remedy="check the address",
                )
            # RAS waits for its own processes at most as long; then it tells which are missing.
            _answer(stream, f"TIMEOUT {max(0.1, 0.6 * deadline.left_s()):.1f}")
            _answer(stream, "SET FORMAT json")  # an older NCCL refuses, and answers in text
            stream.send(b"VERBOSE STATUS\n")
            return stream.rest().decode("utf-8", errors="replace")


def _answer(stream: Stream, command: str) -> str:
    stream.send(f"{command}\n".encode())
    return stream.line(b"\n").decode("utf-8", errors="replace").rstrip("\r")
