"""What the two ends of a transfer and its packets are like, where links have their own delays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from netloom.parts.parts import Technology

__all__ = ["TransferEnds", "ends_of"]

_PS: Final = 1e12


@dataclass(frozen=True, slots=True, kw_only=True)
class TransferEnds:
    """The two ends of a transfer, and its packets.

    Attributes:
        send_ps: From its start to its first bit on the wire; on scale-up links, nothing.
        receive_ps: From its last bit to its arrival in memory, likewise.
        payload_bytes: Of a full packet.
        header_bytes: What a packet adds on the wire, gap included.
        stores: Whether switches store a packet before they send it on.
    """

    send_ps: int
    receive_ps: int
    payload_bytes: int
    header_bytes: int
    stores: bool


def ends_of(technology: Technology) -> TransferEnds:
    """Return what *technology* does at the ends: the same budget as the packet engine's."""
    spent = technology.latency
    before_s = spent.post_s + spent.send_stack_s + spent.doorbell_s + spent.nic_send_s
    after_s = spent.nic_receive_s + spent.interrupt_s + spent.receive_stack_s + spent.wake_s
    return TransferEnds(
        send_ps=round((before_s + spent.credit_s) * _PS),
        receive_ps=round(after_s * _PS),
        payload_bytes=int(technology.payload_bytes),
        header_bytes=int(technology.header_bytes),
        stores=technology.protocol != "infiniband",
    )
