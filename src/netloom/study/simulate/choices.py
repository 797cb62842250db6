"""What a user chooses instead of the technology's own ways."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, cast

from netloom.engines.balancing import LOAD_BALANCINGS
from netloom.errors import SpecError
from netloom.spec.problems import did_you_mean
from netloom.units import SHARE, SIZE, parse_quantity

if TYPE_CHECKING:
    from netloom.engines.flow.settings import Balance, FlowSettings
    from netloom.engines.packet.settings import Ecn, PacketSettings
    from netloom.fabric.network import Network
    from netloom.parts.parts import Technology
    from netloom.spec.fabric.settings import OwnSettings

__all__ = ["Choices"]

_WORDS: Final = {"pfc": "pauses", "trimming": "fixed queues"}


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
        settings: Published marks and congestion control by name, such as ``dcqcn-paper``; what
            else is chosen goes before.
    """

    congestion_control: str = ""
    load_balancing: str = ""
    transport: str = ""
    flow_control: str = ""
    ecn: str = ""
    qps: int = 0
    settings: str | OwnSettings = ""

    def flow_settings(
        self, technology: Technology, network: Network | None, *, wired: bool
    ) -> FlowSettings:
        """Return the flow engine's settings, on a wiring or on a fabric.

        Raises:
            SpecError: flows do not know a scheme that was chosen.
        """
        from netloom.engines.flow.settings import settings_for  # noqa: PLC0415

        for name in ("congestion_control", "transport", "flow_control", "ecn", "settings"):
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
        from netloom.study.lossless_settings import published  # noqa: PLC0415

        own, connections = self.congestion_control, self.qps
        if self.settings:
            own = own or published(self.settings).congestion_control
            connections = connections or published(self.settings).connections
        found = settings_for(
            technology,
            congestion_control=own,
            load_balancing=self.load_balancing,
            transport=self.transport,
            flow_control=self.flow_control,
            connections=connections,
        )
        if self.settings:
            found = self._as_published(technology, found)
        if not self.ecn:
            return found
        return replace(found, ecn=None if self.ecn == "off" else _marking(self.ecn))

    def _as_published(self, technology: Technology, found: PacketSettings) -> PacketSettings:
        from netloom.study.lossless_settings import marks_of, published  # noqa: PLC0415

        asked = published(self.settings)
        is_for = "pfc" if asked.queue_shares is None else "trimming"
        if found.flow_control != is_for:
            example = "rocev2-400g" if is_for == "pfc" else "uet-400g"
            raise SpecError(
                key="settings",
                what=f"{asked.name} is for {_WORDS[is_for]}, and flow control is "
                f"{found.flow_control}",
                remedy=f"leave it out, or use a technology with {is_for} such as {example}",
            )
        marks = marks_of(technology, self.settings)
        host = found.transport
        if asked.cnp_interval_s and host.cnp_interval_ps:
            host = replace(host, cnp_interval_ps=round(asked.cnp_interval_s * 1e12))
        return replace(
            found,
            ecn=None if found.ecn is None else marks,
            parameters={**found.parameters, **asked.parameters},
            switch=replace(found.switch, alpha=asked.alpha or found.switch.alpha),
            transport=host,
        )


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
