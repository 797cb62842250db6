"""``netloom headroom``: bytes by port, the pool that is left, and what breaks first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from netloom.errors import SpecError
from netloom.fabric.cost.layout import lay_out, nodes_per_rack
from netloom.fabric.wire import lossless_ethernet as lossless
from netloom.fabric.wire.latency import one_way_s
from netloom.results.explained import Explained
from netloom.results.table import Table
from netloom.results.tabular import Tabular
from netloom.study.headroom.explain import DividedBuffer, explanations_of
from netloom.study.headroom.limits import (
    BufferLimit,
    cable_limit_m,
    incast_limit,
    marking_limit,
)
from netloom.study.headroom.ports import PortHeadroom, port_headroom
from netloom.study.headroom.sanity import SettingsCheck, sanity_of
from netloom.study.inputs import catalog_of
from netloom.study.lossless_settings import (
    lossless_settings_with,
    marks_of,
    published,
    settings_name,
)
from netloom.study.networks import network_of

if TYPE_CHECKING:
    from netloom.fabric.network import Network
    from netloom.fabric.wire.lossless_ethernet import LosslessSettings
    from netloom.parts.load import Catalog
    from netloom.provenance import Why
    from netloom.spec.fabric.settings import OwnSettings
    from netloom.spec.scenario import Floor, Scenario

__all__ = ["HeadroomBudget", "headroom"]

MARKING: Final = "ports congested at once"
_LENGTHS_M: Final = (5, 30, 100, 300, 500, 2_000, 10_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadroomBudget(Tabular, Explained):
    """How the buffer of a network's switches is divided.

    Attributes:
        network: Whose switches.
        mtu_bytes: Largest frame of the lossless priority, on both sides.
        num_priorities: Lossless ones.
        ports: What each kind of port needs, from the hosts up.
        settings: What ``deploy`` writes for it.
        published: Name of the published settings they follow; empty for the technology's own.
        marks: Whether switches mark.
        checks: Whether what was published is sane on these switches.
        window_bytes: What one sender has under way: rate times the round trip to the farthest.
        by_length: Were every cable that long: headroom of a port, and what is left of the pool.
        limits: From the nearest to the farthest.
    """

    network: Network
    mtu_bytes: int
    num_priorities: int
    ports: tuple[PortHeadroom, ...]
    settings: LosslessSettings
    published: str
    marks: bool
    checks: tuple[SettingsCheck, ...]
    window_bytes: float
    by_length: tuple[tuple[int, int, float], ...]
    limits: tuple[BufferLimit, ...]

    @property
    def buffer_bytes(self) -> float:
        """The whole buffer of a switch."""
        return self.network.design.switch.buffer_bytes or 0.0

    @property
    def longest_m(self) -> float:
        """The longest cable as ordered, for which every port is given room."""
        return max(port.length_m for port in self.ports)

    @property
    def port_headroom_bytes(self) -> int:
        """What every port is given for each priority."""
        return _room(self.network, self.longest_m, self.mtu_bytes)

    @property
    def breaks_first(self) -> BufferLimit:
        """The limit that the design is nearest to."""
        return self.limits[0]

    def explanations(self) -> dict[str, Why]:
        """Return how headroom, pool and thresholds came about."""
        return explanations_of(
            DividedBuffer(
                network=self.network,
                settings=self.settings,
                mtu_bytes=self.mtu_bytes,
                num_priorities=self.num_priorities,
                port_headroom_bytes=self.port_headroom_bytes,
                longest_m=self.longest_m,
            )
        )

    def table(self) -> Table:
        """Return one row a kind of port."""
        return Table.from_rows(port.to_json() for port in self.ports)

    def to_json(self) -> dict[str, Any]:
        """Return the stable keys that docs/json.md documents."""
        design, settings = self.network.design, self.settings
        return {
            "technology": self.network.technology.name,
            "switch": design.switch.name,
            "asic": design.switch.asic,
            "switch_ports": design.radix,
            "mtu_bytes": self.mtu_bytes,
            "priorities": self.num_priorities,
            "buffer_bytes": self.buffer_bytes,
            "port_headroom_bytes": self.port_headroom_bytes,
            "headroom_bytes": settings.headroom_bytes,
            "headroom_share": settings.headroom_bytes / self.buffer_bytes,
            "pool_bytes": settings.pool_bytes,
            "alpha": settings.alpha,
            "xoff_at_bytes": settings.xoff_at_bytes,
            "alone_at_bytes": settings.alone_at_bytes,
            "xon_offset_bytes": settings.resume_bytes,
            "kmin_bytes": settings.marking.kmin_bytes if self.marks else None,
            "kmax_bytes": settings.marking.kmax_bytes if self.marks else None,
            "pmax": settings.marking.pmax if self.marks else None,
            "window_bytes": self.window_bytes,
            "ports": [port.to_json() for port in self.ports],
            "by_length": [
                {"length_m": length, "port_headroom_bytes": room, "pool_bytes": pool}
                for length, room, pool in self.by_length
            ],
            "settings": self.published,
            "checks": [check.to_json() for check in self.checks],
            "breaks_first": self.breaks_first.what,
            "limits": [limit.to_json() for limit in self.limits],
        }


def headroom(
    scenario: Scenario,
    catalog: Catalog | None = None,
    *,
    cable_m: float | None = None,
    mtu_bytes: int = lossless.MTU_BYTES,
    num_priorities: int = 1,
    settings: str | OwnSettings = "",
) -> HeadroomBudget:
    """Return the buffer that pauses need in *scenario*'s switches, and what is left.

    >>> import netloom as nl
    >>> nl.headroom(nl.example("incast-rocev2")).settings.pool_bytes > 100e6
    True

    Args:
        scenario: Its cluster matters.
        catalog: The parts; default: the shipped ones and the scenario's own.
        cable_m: Length of every cable; default: as the machine room asks, stage by stage.
        mtu_bytes: Largest frame, on both sides.
        num_priorities: Lossless priorities a port.
        settings: Published ones by name, or own ones; default: the scenario's, or the
            technology's own.

    Raises:
        SpecError: the technology has no pauses, or the rate no known response to one.
        CatalogError: the buffer of the switch is not known.
        InfeasibleError: headroom leaves nothing of it.
    """
    network = network_of(scenario.cluster, catalog or catalog_of(scenario))
    _check(network, cable_m=cable_m, mtu_bytes=mtu_bytes, num_priorities=num_priorities)
    lengths = _lengths(network, scenario.cluster.fabric.floor, cable_m)
    ports = tuple(
        port_headroom(network, ports=name, rate_bps=rate, length_m=length, mtu_bytes=mtu_bytes)
        for name, rate, length in lengths
    )
    longest_m = max(port.length_m for port in ports)
    asked = settings or scenario.cluster.fabric.settings or ""
    marks = marks_of(network.technology, asked)
    marked = not asked or marks is not None
    divided = lossless_settings_with(
        network,
        room_bytes=_room(network, longest_m, mtu_bytes) * num_priorities,
        marks=marks,
        alpha=published(asked).alpha if asked else 0.0,
    )
    window_bytes = _window_bytes(network, lengths)
    return HeadroomBudget(
        network=network,
        mtu_bytes=mtu_bytes,
        num_priorities=num_priorities,
        ports=ports,
        settings=divided,
        published=settings_name(asked),
        marks=marked,
        checks=sanity_of(network, divided, marks, asked, window_bytes),
        window_bytes=window_bytes,
        by_length=_by_length(network, mtu_bytes, num_priorities),
        limits=tuple(
            limit
            for limit in _limits(network, divided, ports, window_bytes, num_priorities, mtu_bytes)
            if marked or limit.what != MARKING
        ),
    )


def _check(network: Network, *, cable_m: float | None, mtu_bytes: int, num_priorities: int) -> None:
    control = network.technology.flow_control
    if control != "pfc":
        raise SpecError(
            key="cluster.fabric.technology",
            what=f"{network.technology.name} has flow control {control}: no pauses, no headroom",
            remedy="use one with pauses, such as rocev2-400g; credits are in 'netloom size'",
        )
    if cable_m is not None and not 0 < cable_m < 1e7:
        raise SpecError(
            option="--cable",
            what=f"{cable_m:g} m",
            remedy="give a length over 0 and under 10,000 km",
        )
    if not 64 <= mtu_bytes <= 65_536:
        raise SpecError(option="--mtu", what=f"{mtu_bytes:,} bytes", remedy="give 64 to 65,536")
    if not 1 <= num_priorities <= 8:
        raise SpecError(option="--priorities", what=f"{num_priorities}", remedy="a port has 1 to 8")


def _lengths(
    network: Network, floor: Floor, cable_m: float | None
) -> tuple[tuple[str, float, float], ...]:
    """Return each kind of port: its name, rate, and the longest of its cables as ordered."""
    design = network.design
    layout = lay_out(design, floor, per_rack=nodes_per_rack(floor, network.node))
    return tuple(
        (
            f"{route.stage.lower}-{route.stage.upper}",
            route.stage.rate_bps,
            lossless.ordered_m(route.longest_m) if cable_m is None else cable_m,
        )
        for route in layout.routes
        if route.stage.num_cables
    )


def _room(network: Network, length_m: float, mtu_bytes: int) -> int:
    """Return the headroom of a port at hosts' rate."""
    return lossless.port_headroom_bytes(
        rate_bps=network.design.port_rate_bps,
        length_m=length_m,
        forward_s=network.technology.latency.switch_s,
        mtu_bytes=mtu_bytes,
    )


def _window_bytes(network: Network, lengths: tuple[tuple[str, float, float], ...]) -> float:
    """Return the bandwidth-delay product to the farthest host: a full packet out and back."""
    design, technology = network.design, network.technology
    way_s = one_way_s(
        technology,
        num_hops=design.reaches[-1].num_hops,
        cable_m=2 * sum(length for _, _, length in lengths),
        message_bytes=technology.payload_bytes,
        rate_bps=design.port_rate_bps,
    )
    return 2 * way_s * design.port_rate_bps / 8


def _by_length(
    network: Network, mtu_bytes: int, num_priorities: int
) -> tuple[tuple[int, int, float], ...]:
    design = network.design
    buffer_bytes = design.switch.buffer_bytes or 0.0
    found = []
    for length in _LENGTHS_M:
        room = _room(network, length, mtu_bytes)
        left = buffer_bytes - design.radix * num_priorities * room
        found.append((length, room, max(0.0, left * (1 - lossless.RESERVE_SHARE))))
    return tuple(found)


def _limits(
    network: Network,
    settings: LosslessSettings,
    ports: tuple[PortHeadroom, ...],
    window_bytes: float,
    num_priorities: int,
    mtu_bytes: int,
) -> tuple[BufferLimit, ...]:
    design = network.design
    rate_bps = design.port_rate_bps
    found = (
        BufferLimit(
            what="cable length",
            unit="m",
            limit=cable_limit_m(
                buffer_bytes=design.switch.buffer_bytes or 0.0,
                fixed_bytes=_room(network, 0, mtu_bytes),
                rate_bps=rate_bps,
                num_reservations=design.radix * num_priorities,
            ),
            have=max(port.length_m for port in ports),
            then="headroom takes the whole buffer: packets are lost",
        ),
        BufferLimit(
            what=MARKING,
            unit="",
            limit=marking_limit(settings),
            have=design.radix,
            then="queues are paused before every packet is marked",
        ),
        BufferLimit(
            what="incast degree",
            unit="",
            limit=incast_limit(settings, window_bytes=window_bytes, most=design.radix - 1),
            have=design.radix - 1,
            then="first windows alone raise pauses, whatever congestion control does later",
        ),
    )
    return tuple(sorted(found, key=lambda limit: limit.margin))
