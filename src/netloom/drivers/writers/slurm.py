"""Slurm by ``scontrol``, here or over SSH: nodes are drained and resumed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from netloom.drivers.writers.commands import SetAtOnce, ShellRequest, ask, send, shown
from netloom.errors import LabError
from netloom.formats.slurm.nodes import check_name, parse_nodes

if TYPE_CHECKING:
    from netloom.formats.slurm.nodes import SlurmNode
    from netloom.ops.heal.devices import ChangeKind, DeviceState, SettingChange
    from netloom.ops.observe.devices import DeviceAccess

__all__ = ["SlurmWriter"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SlurmWriter(SetAtOnce):
    """One cluster's controller."""

    access: DeviceAccess
    changes: ClassVar[frozenset[ChangeKind]] = frozenset({"node"})

    def plan(self, change: SettingChange, name: str) -> tuple[str, ...]:
        """As :meth:`DeviceWriter.plan`."""
        return shown(self.access, (_request(change, name),))

    def state(self, change: SettingChange, name: str = "") -> DeviceState:
        """As :meth:`DeviceWriter.state`."""
        del name
        node = check_name(change.label)
        said = ask(self.access, ["scontrol", "--oneliner", "show", "node", node])
        found = [one for one in parse_nodes(said) if one.name == node]
        if not found:
            raise LabError(what=f"Slurm has no node {node}", remedy="look at sinfo")
        return "out-of-use" if found[0].is_cordoned else "in-use"

    def apply(self, change: SettingChange, name: str) -> None:
        """As :meth:`DeviceWriter.apply`; running jobs go on."""
        send(self.access, (_request(change, name),))

    def nodes(self) -> tuple[SlurmNode, ...]:
        """Return every node, by whomever it is cordoned.

        Raises:
            LabError: the controller does not answer.
        """
        return parse_nodes(ask(self.access, ["scontrol", "--oneliner", "show", "node"]))


def _request(change: SettingChange, name: str) -> ShellRequest:
    node = check_name(change.label)
    state = ("State=RESUME",) if change.in_use else ("State=DRAIN", f"Reason={name}")
    return ShellRequest(argv=("scontrol", "update", f"NodeName={node}", *state))
