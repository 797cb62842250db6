"""What a user chooses instead of the technology's own ways."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

from netloom.engines.balancing import LOAD_BALANCINGS
from netloom.errors import SpecError
from netloom.spec.problems import did_you_mean
from netloom.units import SHARE, SIZE, parse_quantity

if TYPE_CHECKING:
    from netloom.engines.flow.settings import Balance, FlowSettings
    from netloom.engines.packet.settings import Ecn, PacketSettings
    from netloom.fabric.network import Network
    from netloom.parts.parts import Technology

__all__ = ["Choices"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """Schemes by name, each empty for the technology's own.

    Attributes:
        congestion_control: Such as ``dcqcn``, ``hpcc``, ``none``.
        load_balancing: Such as ``ecmp``, ``adaptive``, ``spray``.
        transport: What the end points do about loss and order.
        flow_control: ``pfc``, ``credits`` or ``none``.
        ecn: Marking thresholds ``Kmin-Kmax-Pmax`` such as ``100KB-400KB-20%``, or ``off``.
        qps: Connections a transfer is spread over; 0 for the technology's own.
    """

    congestion_control: str = ""
    load_balancing: str = ""
    transport: str = ""
    flow_control: str = ""
    ecn: str = ""
    qps: int = 0

    def flow_settings(
        self, technology: Technology, network: Network | None, *, wired: bool
    ) -> FlowSettings:
        """Return the flow engine's settings, on a wiring or on a fabric.

        Raises:
            SpecError: flows do not know a scheme that was chosen.
        """
        from netloom.engines.flow.settings import settings_for  # noqa: PLC0415

        for name in ("congestion_control", "transport", "flow_control", "ecn"):
            if getattr(self, name):
                raise SpecError(
                    key=name, what="flows have none", remedy="leave it out, or use --engine packet"
                )
        loss = network.loss if network else None
        found = settings_for(technology, loss=loss, wired=wired)
        if self.load_balancing:
            found = replace(found, balance=_flow_balance(self.load_balancing))
        return replace(found, flows_per_transfer=self.qps) if self.qps else found

    def packet_settings(self, technology: Technology) -> PacketSettings:
        """Return the packet engine's settings.

        Raises:
            SpecError: a scheme is not known, or does not go with the others.
        """
        from netloom.engines.packet.presets import settings_for  # noqa: PLC0415

        found = settings_for(
            technology,
            congestion_control=self.congestion_control,
            load_balancing=self.load_balancing,
            transport=self.transport,
            flow_control=self.flow_control,
            connections=self.qps,
        )
        if not self.ecn:
            return found
        return replace(found, ecn=None if self.ecn == "off" else _marking(self.ecn))


def _flow_balance(name: str) -> Balance:
    """Return the load balancing that flows know as *name*."""
    known = [one.name for one in LOAD_BALANCINGS.entries() if one.in_flows]
    if name not in known:
        raise SpecError(
            key="load_balancing", what=f"{name!r} is not known", remedy=did_you_mean(name, known)
        )
    return cast("Balance", name)


def _marking(text: str) -> Ecn:
    """Return the thresholds written as ``100KB-400KB-20%``."""
    from netloom.engines.packet.settings import Ecn  # noqa: PLC0415

    words = text.split("-")
    if len(words) != 3:
        raise SpecError(
            key="ecn",
            what=f"{text!r} is not Kmin-Kmax-Pmax",
            remedy="write it as 100KB-400KB-20%, or off",
        )
    low, high = (round(parse_quantity(word, SIZE, where="ecn")) for word in words[:2])
    share = parse_quantity(words[2], SHARE, where="ecn")
    return Ecn(kmin_bytes=low, kmax_bytes=high, pmax=share, at_rate_bps=0)
