"""How long a message takes from one application to another, component by component."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from netloom.fabric.wire.framing import wire_bytes
from netloom.provenance import Source, Why

if TYPE_CHECKING:
    from netloom.parts.parts import Technology

__all__ = ["PROPAGATION_S_PER_M", "Component", "budget", "one_way_s", "why"]

# Light in glass of index 1.5 and signals in twinax: 4.9 to 5 us a kilometre (ITU-T G.652 fibre).
PROPAGATION_S_PER_M: Final = 5e-9
_FIBRE: Final = Source(citation="light in fibre, 4.9 to 5 us/km", confidence="derived")
_STORE: Final = Source(
    citation="InfiniBand switches cut through (InfiniBand vol. 1); Ethernet ones taken to store",
    confidence="assumed",
    note="Ethernet ASICs cut through when nothing queues and all ports run at one rate; "
    "storing is the cautious choice and adds one packet time a switch",
)

_BEFORE_WIRE: Final = (
    ("application to send", "post_s"),
    ("send stack and copy", "send_stack_s"),
    ("doorbell and DMA read", "doorbell_s"),
    ("NIC send", "nic_send_s"),
)
_AFTER_WIRE: Final = (
    ("NIC receive and DMA write", "nic_receive_s"),
    ("interrupt", "interrupt_s"),
    ("receive stack and copy", "receive_stack_s"),
    ("wake-up", "wake_s"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Component:
    """One part of the way, and how long it takes.

    Attributes:
        how: The formula, where it is not a constant of the technology.
    """

    name: str
    time_s: float
    source: Source | None
    how: str = ""


def budget(
    technology: Technology, *, num_hops: int, cable_m: float, message_bytes: float, rate_bps: float
) -> tuple[Component, ...]:
    """Return the components of a message's way, in order; they add up to its latency.

    What a technology does without (a stack in the kernel, an interrupt) is left out.

    Args:
        technology: Gives the fixed components and the framing.
        num_hops: Switches on the way.
        cable_m: All cables on the way, together.
        message_bytes: Payload of the message.
        rate_bps: Of every link on the way.
    """
    components = (
        *(_fixed(technology, *item) for item in _BEFORE_WIRE),
        _serialisation(technology, num_hops, message_bytes, rate_bps),
        _switches(technology, num_hops),
        _fixed(technology, "credit grant", "credit_s"),
        Component(
            name="cables",
            time_s=cable_m * PROPAGATION_S_PER_M,
            source=_FIBRE,
            how=f"{cable_m:g} m x 5 ns",
        ),
        *(_fixed(technology, *item) for item in _AFTER_WIRE),
    )
    return tuple(component for component in components if component.time_s > 0)


def one_way_s(
    technology: Technology, *, num_hops: int, cable_m: float, message_bytes: float, rate_bps: float
) -> float:
    """Return the time from the sender's call to the receiver's return; see :func:`budget`."""
    return sum(
        component.time_s
        for component in budget(
            technology,
            num_hops=num_hops,
            cable_m=cable_m,
            message_bytes=message_bytes,
            rate_bps=rate_bps,
        )
    )


def why(
    technology: Technology, *, num_hops: int, cable_m: float, message_bytes: float, rate_bps: float
) -> Why:
    """Return the latency with its components as an explanation."""
    parts = budget(
        technology,
        num_hops=num_hops,
        cable_m=cable_m,
        message_bytes=message_bytes,
        rate_bps=rate_bps,
    )
    return Why(
        name=f"{technology.name} latency",
        value=sum(part.time_s for part in parts),
        unit="s",
        how="sum of the components, one way",
        parts=tuple(
            Why(name=part.name, value=part.time_s, unit="s", how=part.how, source=part.source)
            for part in parts
        ),
    )


def _fixed(technology: Technology, name: str, attribute: str) -> Component:
    return Component(
        name=name,
        time_s=getattr(technology.latency, attribute),
        source=technology.source(f"latency.{attribute}"),
    )


def _switches(technology: Technology, num_hops: int) -> Component:
    return Component(
        name="switches",
        time_s=num_hops * technology.latency.switch_s,
        source=technology.source("latency.switch_s"),
        how=f"{num_hops} x {technology.latency.switch_s * 1e9:g} ns",
    )


def _serialisation(
    technology: Technology, num_hops: int, message_bytes: float, rate_bps: float
) -> Component:
    """The whole message once, and one packet more at each switch that stores before it sends."""
    whole = wire_bytes(message_bytes, technology)
    packet = wire_bytes(min(message_bytes, technology.payload_bytes), technology)
    num_stores = 0 if technology.protocol == "infiniband" else num_hops
    return Component(
        name="serialisation",
        time_s=(whole + num_stores * packet) * 8 / rate_bps,
        source=_STORE,
        how=f"({whole:g} B + {num_stores} x {packet:g} B) / {rate_bps / 1e9:g} Gb/s",
    )
