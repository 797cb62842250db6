"""A network and its flows from another simulator's files."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from netloom.engines.packet.faults import PacketFault
    from netloom.fabric.wiring.wiring import PacketTopology
    from netloom.formats.simulators.ns3 import Ns3Config
    from netloom.parts.parts import Technology
    from netloom.workload.transfers import Transfers

__all__ = ["CaseTexts", "ImportedCase", "NamedText"]


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedText:
    """The text of a file, and its name, which opens messages."""

    name: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseTexts:
    """The files of a case.

    Attributes:
        topology: The network.
        flows: What is sent over it.
        config: How; None where the simulator has no such file, or it was not given.
    """

    topology: NamedText
    flows: NamedText
    config: NamedText | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ImportedCase:
    """A case from another simulator.

    Attributes:
        node: The number that the files give each vertex.
        simulator: ``htsim`` or ``ns-3 HPCC``.
        config: What an ns-3 configuration says, where one was given.
        faults: The packets that cables of an ns-3 topology lose, and the link that goes down.
        queue_bytes: What may wait for each link, 0 where the files do not say; empty where they
            say nothing.
        notes: What of the files was passed over.
        told_ps: For each transfer the way back of the acknowledgement that it waits for, from the
            last byte of what it waits for on; 0 where it waits for none.
    """

    wiring: PacketTopology
    transfers: Transfers
    node: NDArray[np.int64]
    simulator: str
    config: Ns3Config | None = None
    faults: tuple[PacketFault, ...] = ()
    queue_bytes: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()
    told_ps: NDArray[np.int64] | None = None

    def transfers_on(self, technology: Technology) -> Transfers:
        """Return the transfers, with the waits of senders whose receivers are *technology*'s.

        An acknowledgement is under way while the last byte goes into memory.
        """
        if self.told_ps is None:
            return self.transfers
        budget = technology.latency
        receive_s = (
            budget.nic_receive_s + budget.interrupt_s + budget.receive_stack_s + budget.wake_s
        )
        delay_ps = np.maximum(self.told_ps - round(receive_s * 1e12), 0)
        return replace(self.transfers, delay_ps=delay_ps)
