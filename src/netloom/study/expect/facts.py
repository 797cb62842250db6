"""What a library's own log says of how it was set up, as far as causes are told by it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["SetupFacts"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SetupFacts:
    """What ``NCCL_DEBUG=INFO`` says; empty, 0 or None where it does not.

    Attributes:
        way: ``ib``, ``sockets``, ``ofi``, ``tcpx`` or ``tcpxo``.
        network: The name that the log has for it.
        gpudirect: Whether connections between nodes use GPUDirect RDMA.
        num_nics: Network devices that NCCL found on a host, the fewest of all hosts.
        num_used: Devices that connections of a host use; a log of a few ranks has a part of them.
        nvls: Whether NVLink SHARP is there.
        pxn: Whether rings use PXN.
        algorithms: That collectives ran with, in small letters.
        variables: What the environment sets.
    """

    way: str = ""
    network: str = ""
    gpudirect: bool | None = None
    num_nics: int = 0
    num_used: int = 0
    nvls: bool | None = None
    pxn: bool | None = None
    algorithms: frozenset[str] = frozenset()
    variables: Mapping[str, str] = field(default_factory=dict)

    def is_set(self, name: str, value: str) -> bool:
        """Return whether the environment sets the variable *name* to *value*, in any case."""
        return self.variables.get(name, "").strip().lower() == value.lower()
