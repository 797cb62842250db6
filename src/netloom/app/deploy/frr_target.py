"""A switch that runs FRR in a namespace of this machine, as something to deploy to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from netloom.drivers import frr, frr_reload
from netloom.drivers.programs import wait_for
from netloom.errors import LabError

if TYPE_CHECKING:
    from pathlib import Path

    from netloom.app.deploy.lab_vrfs import LabVrfs, Rooms

__all__ = ["FrrState", "FrrTarget"]

SETTLE_S: Final = 20.0  # sessions come back within some 3 s, and a busy machine takes longer
MAX_NAMED: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class FrrState:
    """What a switch ran and did.

    Attributes:
        configuration: As it ran.
        saved: Its frr.conf on disk; default: empty.
        sessions: BGP sessions that were up.
        prefixes: What the kernel had routes to.
        rooms: Its VRFs.
    """

    configuration: str
    saved: str
    sessions: frozenset[str]
    prefixes: frozenset[str]
    rooms: Rooms


@dataclass(frozen=True, slots=True, kw_only=True)
class FrrTarget:
    """One switch.

    Attributes:
        name: What the deployment calls it.
        pathspace: Its namespace.
        text: The frr.conf it is to run.
        vrfs: The VRFs it is to have.
        moved: Prefixes that are the VRFs' and no longer the switch's own.
        scratch: A folder for files that frr-reload.py reads.
        settle_s: How long sessions and routes may take to come back.
    """

    name: str
    pathspace: str
    text: str
    vrfs: LabVrfs
    scratch: Path
    moved: frozenset[str] = frozenset()
    settle_s: float = SETTLE_S

    def difference(self) -> tuple[str, ...]:
        """Return what would change in the kernel, and what frr-reload.py would change."""
        wanted = self._file(self.text + self.vrfs.stubs(self.vrfs.wanted))
        return (*self.vrfs.difference(), *frr_reload.difference(self.pathspace, wanted))

    def snapshot(self) -> FrrState:
        """Return what it runs; a switch without sessions has none to lose."""
        saved = frr.CONFIGURATION / self.pathspace / "frr.conf"
        return FrrState(
            configuration=frr_reload.running_configuration(self.pathspace),
            saved=saved.read_text(encoding="utf-8") if saved.exists() else "",
            sessions=self._sessions(),
            prefixes=self._prefixes(),
            rooms=self.vrfs.held(),
        )

    def change(self) -> None:
        """Check the file with vtysh, let the daemons run it, and keep it for their next start."""
        frr.check_configuration(self._file(self.text))
        self._run(self.text, self.vrfs.wanted)
        frr.make_folders(self.pathspace, self.text)

    def verify(self, before: FrrState) -> None:
        """Raise unless it runs the file, and sessions and routes there were are there again."""
        left = self.difference()
        if left:
            message = f"{self.name}: still differs after the change: {'; '.join(left[:MAX_NAMED])}"
            raise LabError(message)

        def settled() -> bool | None:
            return True if not self._lost(before) else None

        if wait_for(settled, timeout_s=self.settle_s, step_s=0.1) is None:
            lost = ", ".join(self._lost(before)[:MAX_NAMED])
            message = f"{self.name}: not back {self.settle_s:g} s after the change: {lost}"
            raise LabError(message)

    def restore(self, before: FrrState) -> None:
        """Let the daemons run what they ran, and raise unless they do."""
        self._run(before.configuration, before.rooms)
        frr.make_folders(self.pathspace, before.saved or before.configuration)
        left = frr_reload.difference(self.pathspace, self._file(before.configuration))
        if left:
            message = f"{self.name}: is not as it was: {'; '.join(left[:MAX_NAMED])}"
            raise LabError(message)

    def _run(self, text: str, rooms: Rooms) -> None:
        """Make VRFs, let FRR know of those and no others, and remove the others."""
        self.vrfs.prepare(rooms)
        frr_reload.reload(self.pathspace, self._file(text + self.vrfs.stubs(rooms)))
        self.vrfs.finish(rooms)

    def _lost(self, before: FrrState) -> list[str]:
        sessions = sorted(before.sessions - self._sessions())
        prefixes = sorted(before.prefixes - self.moved - self._prefixes())
        return [f"session {name}" for name in sessions] + [f"route {name}" for name in prefixes]

    def _sessions(self) -> frozenset[str]:
        return frozenset(peer.name for peer in frr.peers(self.pathspace) if peer.is_up)

    def _prefixes(self) -> frozenset[str]:
        return frozenset(route.prefix for route in frr.fib(self.pathspace) if route.interfaces)

    def _file(self, text: str) -> Path:
        path = self.scratch / f"{self.pathspace}.conf"
        path.write_text(text, encoding="utf-8")
        return path
