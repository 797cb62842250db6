"""How a network's switches mark, pause and divide their buffers: as simulated and as deployed."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from netloom.engines.packet.ecn import Ecn
from netloom.engines.packet.presets import settings_for
from netloom.engines.packet.schemes.marking import at_queue_shares
from netloom.errors import SpecError
from netloom.fabric.cost.layout import lay_out, nodes_per_rack
from netloom.fabric.wire import lossless_ethernet as lossless
from netloom.fabric.wire.published_settings import PUBLISHED_SETTINGS, PublishedSettings
from netloom.provenance import Source
from netloom.spec.fabric.settings import OwnSettings

if TYPE_CHECKING:
    from netloom.fabric.network import Network
    from netloom.fabric.wire.lossless_ethernet import LosslessSettings
    from netloom.parts.parts import Technology
    from netloom.spec.scenario import Floor

__all__ = [
    "OWN",
    "lossless_settings_of",
    "lossless_settings_with",
    "marks_of",
    "published",
    "settings_name",
]

OWN: Final = "own"
# What the technology's congestion control asks for, and the buffer model of deploy.
_TECHNOLOGYS_OWN: Final = PublishedSettings(
    name=OWN,
    summary="the technology's own",
    marking=lossless.RED,
    marking_rate_bps=lossless.RED_RATE_BPS,
    queue_shares=None,
    alpha=0.0,
    congestion_control="",
    parameters={},
    cnp_interval_s=0.0,
    connections=0,
    source=Source(citation="the scenario", confidence="assumed"),
)


def published(asked: str | OwnSettings) -> PublishedSettings:
    """Return the settings that were published by that name, or a scenario's own.

    Raises:
        SpecError: there are none.
    """
    return _named(asked) if isinstance(asked, str) else _own(asked)


def settings_name(asked: str | OwnSettings | None) -> str:
    """Return what to call settings: their published name, ``own``, or nothing."""
    if isinstance(asked, OwnSettings):
        return OWN
    return asked or ""


def _own(asked: OwnSettings) -> PublishedSettings:
    base = _named(asked.of) if asked.of else _TECHNOLOGYS_OWN
    marking, rate_bps = base.marking, base.marking_rate_bps
    if asked.kmin_bytes is not None or asked.kmax_bytes is not None or asked.pmax is not None:
        marking, rate_bps = _marking(asked, base), 0.0
    return replace(
        base,
        name=OWN,
        summary="as the scenario gives them",
        marking=marking,
        marking_rate_bps=rate_bps,
        alpha=asked.alpha or base.alpha,
        congestion_control=asked.congestion_control or base.congestion_control,
        parameters={**base.parameters, **(asked.parameters or {})},
        cnp_interval_s=asked.cnp_interval_s or base.cnp_interval_s,
        connections=asked.qps or base.connections,
    )


def _marking(asked: OwnSettings, base: PublishedSettings) -> lossless.Marking:
    """Return thresholds in bytes as they are; all three, since a base may grow with the rate.

    Raises:
        SpecError: some are missing, or they do not follow each other.
    """
    low, high, share = asked.kmin_bytes, asked.kmax_bytes, asked.pmax
    if low is None or high is None or (share is None and base.marking is None):
        raise SpecError(
            key="cluster.fabric.settings",
            what="kmin, kmax and pmax come together",
            remedy="give all three",
        )
    if low > high:
        raise SpecError(
            key="cluster.fabric.settings",
            what=f"kmin {low:,.0f} B is over kmax {high:,.0f} B",
            remedy="Kmin comes first",
        )
    assert base.marking is not None or share is not None
    pmax = share if share is not None else base.marking.pmax  # type: ignore[union-attr]
    return lossless.Marking(kmin_bytes=round(low), kmax_bytes=round(high), pmax=pmax)


def _named(name: str) -> PublishedSettings:
    if name not in PUBLISHED_SETTINGS.names():
        raise SpecError(
            key="settings", what=f"{name!r} is not known", remedy=PUBLISHED_SETTINGS.hint(name)
        )
    return PUBLISHED_SETTINGS.get(name)


def marks_of(technology: Technology, asked: str | OwnSettings = "") -> Ecn | None:
    """Return what congestion control wants marked, or what *asked* has; None for no marks.

    Raises:
        SpecError: there are no such settings.
    """
    if not asked:
        return settings_for(technology).ecn
    found = published(asked)
    if found.queue_shares is not None:
        return at_queue_shares(technology)
    if found.marking is None:
        return None
    return Ecn(
        kmin_bytes=found.marking.kmin_bytes,
        kmax_bytes=found.marking.kmax_bytes,
        pmax=found.marking.pmax,
        at_rate_bps=found.marking_rate_bps,
    )


def lossless_settings_of(
    network: Network, floor: Floor, marks: Ecn | None = None, *, alpha: float = 0.0
) -> LosslessSettings:
    """Return the settings of all switches of *network* on *floor*.

    Args:
        network: Its switch, rates and radix matter.
        floor: From which the longest cable follows.
        marks: What congestion control wants; default: marks that grow with the queue.
        alpha: Share of the free pool that an input may take; 0 for the usual one.

    Raises:
        CatalogError: the buffer of the switch is not known.
        SpecError: IEEE 802.3 gives no pause response for the rate of its ports.
        InfeasibleError: headroom leaves nothing of the buffer.
    """
    design = network.design
    layout = lay_out(design, floor, per_rack=nodes_per_rack(floor, network.node))
    longest_m = max((route.longest_m for route in layout.routes), default=0.0)
    room_bytes = lossless.port_headroom_bytes(
        rate_bps=design.port_rate_bps,
        length_m=lossless.ordered_m(longest_m),
        forward_s=network.technology.latency.switch_s,
    )
    return lossless_settings_with(network, room_bytes=room_bytes, marks=marks, alpha=alpha)


def lossless_settings_with(
    network: Network, *, room_bytes: int, marks: Ecn | None = None, alpha: float = 0.0
) -> LosslessSettings:
    """Return the settings of all switches of *network* with *room_bytes* of headroom a port.

    Raises:
        CatalogError: the buffer of the switch is not known.
        InfeasibleError: headroom leaves nothing of the buffer.
    """
    design, wanted = network.design, marks or Ecn()
    return lossless.lossless_settings(
        design.switch,
        num_ports=design.radix,
        room_bytes=room_bytes,
        host_rate_bps=design.port_rate_bps,
        marking=lossless.Marking(
            kmin_bytes=wanted.kmin_bytes, kmax_bytes=wanted.kmax_bytes, pmax=wanted.pmax
        ),
        marking_rate_bps=wanted.at_rate_bps,
        alpha=alpha or lossless.ALPHA,
    )
