"""A subnet manager of this machine, as something to deploy to."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from netloom.drivers import ibdiags as partition_keys_ibdiags
from netloom.drivers import opensm
from netloom.errors import LabError
from netloom.ops.deploy.changes import file_changes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from netloom.drivers.ibdiags import Client
    from netloom.drivers.programs import Running
    from netloom.formats.infiniband import opensm as opensm_format

__all__ = ["OpensmTarget"]

SETTLE_S: Final = 120.0
FULL_MEMBER: Final = 0x8000


@dataclass(frozen=True, slots=True, kw_only=True)
class OpensmTarget:
    """One subnet manager.

    Attributes:
        name: What the lab calls it.
        manager: Where its files lie.
        running: Its process.
        files: What it is to read, by file name.
        engine: The routing engine that they ask for.
        client: The view of its subnet.
        keys: What ports of the subnet shall hold, by port GUID: a sample of each tenant's.
    """

    name: str
    manager: opensm_format.SubnetManager
    running: Running
    files: Mapping[str, str]
    engine: str
    client: Client
    keys: Mapping[int, frozenset[int]]

    def difference(self) -> tuple[str, ...]:
        """Return the lines of its files that differ."""
        if not self.running.is_alive:
            raise LabError(what=f"{self.name}: does not run", remedy="start it first")
        changes = file_changes(self.snapshot(), self.files)
        return tuple(f"{one.device}: {line}" for one in changes for line in one.lines)

    def snapshot(self) -> dict[str, str]:
        """Return the files that it has."""
        found = {}
        for name in self.files:
            with contextlib.suppress(FileNotFoundError):
                found[name] = (self.manager.folder / name).read_text(encoding="utf-8")
        return found

    def change(self) -> None:
        """Write the files and let it read them; raise unless it took them and routes by them."""
        log = self._put(self.files)
        if log is not None:  # a manager that stands by does not route
            self._judge(log)

    def verify(self, before: dict[str, str]) -> None:
        """Raise unless ports hold their keys."""
        del before  # a subnet manager is judged by what its files ask for
        for guid, wanted in self.keys.items():
            held = frozenset(partition_keys_ibdiags.partition_keys(self.client.run, guid))
            if held != wanted:
                message = (
                    f"{self.name}: port 0x{guid:016x} holds partition keys {_shown(held)} "
                    f"instead of {_shown(wanted)}"
                )
                raise LabError(message)

    def restore(self, before: dict[str, str]) -> None:
        """Put the old files back, remove new ones, and let it read them."""
        for name in set(self.files) - set(before):
            (self.manager.folder / name).unlink(missing_ok=True)
        log = self._put(before)
        if log is not None and log.refused:
            message = f"{self.name}: OpenSM passes over its old files: {log.refused[0]}"
            raise LabError(message)

    def _put(self, files: Mapping[str, str]) -> opensm_format.SmLog | None:
        for name, text in files.items():
            draft = self.manager.folder / f".{name}.tmp"
            draft.write_text(text, encoding="utf-8")
            draft.replace(self.manager.folder / name)
        is_master = opensm.read_log(self.manager).state == "master"
        offset = opensm.reread(self.manager, self.running)
        if not is_master:  # one that stands by reads its files and says nothing
            return None
        return opensm.wait_up(self.manager, self.running, timeout_s=SETTLE_S, offset=offset)

    def _judge(self, log: opensm_format.SmLog) -> None:
        if log.refused:
            message = f"{self.name}: OpenSM passed over what it was given: {log.refused[0]}"
            raise LabError(message)
        if log.engine != self.engine:
            raise LabError(
                what=(
                    f"{self.name}: OpenSM routes with {log.engine or 'nothing'} instead of "
                    f"{self.engine}"
                ),
                remedy="it takes another engine only when it is started again",
            )


def _shown(keys: frozenset[int]) -> str:
    return " ".join(f"{key:#06x}" for key in sorted(keys)) or "none"
