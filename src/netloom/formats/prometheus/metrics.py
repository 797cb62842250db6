"""/metrics: what is seen now, under the names that operators' boards ask for."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from netloom.ops.observe.metrics import BY_NAME

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from netloom.ops.observe.metrics import Metric
    from netloom.ops.observe.store import Poll

__all__ = [
    "DeviceIdentity",
    "Families",
    "Now",
    "PortNeighbour",
    "Suspect",
    "families_of",
    "render",
]

MAX_FINDINGS: Final = 100  # told one by one; beyond that only how many there are
_PORT: Final = re.compile(r"(?P<device>.{1,120})\[(?P<port>\d{1,4})\]")


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceIdentity:
    """What identifies a device of InfiniBand; empty for Ethernet."""

    is_host: bool
    guid: str = ""
    lid: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PortNeighbour:
    """A switch's port and what is at the other end of its cable."""

    device: str
    port: int
    peer: str
    peer_port: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspect:
    """A part that is held to be broken."""

    part: str
    kind: str
    confidence: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Now:
    """What is to be told.

    Attributes:
        values: Part, metric and value of all that is fresh.
        devices: By name, those known by a GUID or as part of the design.
        neighbours: Ports with their peers.
        polls: The last look at each source.
        good_polls: The last that went well.
        differences: As built against as designed, how many of each kind; None before the first
            comparison.
        store_bytes: What the store takes.
        findings: What is broken, the surest first.
        remote: Samples for another time-series engine by what became of them; empty without one.
        leads: Whether this watch writes cases and alerts, and not another that shares them.
    """

    values: Iterable[tuple[str, str, float]]
    devices: Mapping[str, DeviceIdentity]
    neighbours: Iterable[PortNeighbour] = ()
    polls: tuple[Poll, ...] = ()
    good_polls: tuple[Poll, ...] = ()
    differences: Mapping[str, int] | None = None
    store_bytes: int = 0
    findings: Sequence[Suspect] = ()
    remote: Mapping[str, int] = field(default_factory=dict)
    leads: bool = True


@dataclass(slots=True)
class Families:
    """Samples by family, in the order that families first occur."""

    heads: dict[str, str] = field(default_factory=dict)
    rows: dict[str, list[tuple[str, float]]] = field(default_factory=dict)

    def add(self, name: str, value: float, labels: str, *, kind: str, about: str) -> None:
        """Put a sample into its family; *labels* are as :func:`_labels` writes them."""
        if name not in self.heads:
            self.heads[name] = f"# HELP {name} {about}\n# TYPE {name} {kind}\n"
            self.rows[name] = []
        self.rows[name].append((labels, value))

    def text(self) -> str:
        """Return all of them, in the text format 0.0.4."""
        return "".join(
            head + "".join(f"{name}{labels} {value!r}\n" for labels, value in self.rows[name])
            for name, head in self.heads.items()
        )

    def samples(self) -> Iterator[tuple[str, str, float]]:
        """Give family, labels as :func:`_labels` writes them, and value of each sample."""
        for name, rows in self.rows.items():
            for labels, value in rows:
                yield name, labels, value


def _labels(**labels: str) -> str:
    written = ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items())
    return f"{{{written}}}" if written else ""


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def render(now: Now) -> bytes:
    """Return the exposition of *now*, in the text format 0.0.4."""
    return families_of(now).text().encode()


def families_of(now: Now) -> Families:
    """Return every sample of *now*."""
    families = Families()
    places: dict[str, _Place] = {}
    rates_bps: dict[str, float] = {}
    for part, name, value in now.values:
        metric = BY_NAME.get(name)
        if metric is None:
            continue
        if part not in places:
            places[part] = _Place.of(part, now.devices)
        place = places[part]
        _value(families, place, metric, value)
        if name == "rate_bps":
            rates_bps[place.name] = max(value, rates_bps.get(place.name, 0.0))
    _rates(families, now.devices, rates_bps)
    _inventory(families, now)
    _own(families, now)
    return families


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """A part, with the labels it has in each naming; each is written once and used often.

    Attributes:
        name: Of the device, or of the part where it is no port of a known device.
        device: What is known of the device; None for anything else.
        fabric: Labels as infiniband_exporter has them.
        port: Labels of node_exporter's infiniband collector, and of our own families by port.
        network: Labels of node_exporter's netdev collector.
        part: Labels of our own families of other parts.
    """

    name: str
    device: DeviceIdentity | None = None
    fabric: str = ""
    port: str = ""
    network: str = ""
    part: str = ""

    @classmethod
    def of(cls, part: str, devices: Mapping[str, DeviceIdentity]) -> _Place:
        match = _PORT.fullmatch(part)
        device = devices.get(match["device"]) if match else None
        if match is None or device is None:
            return cls(name=part, part=_labels(part=part))
        name, port = match["device"], match["port"]
        side = "hca" if device.is_host else "switch"
        return cls(
            name=name,
            device=device,
            fabric=_labels(guid=device.guid, port=port, **{side: name}),
            port=_labels(device=name, port=port),
            network=_labels(device=part),
            part=_labels(part=part),
        )


def _value(families: Families, place: _Place, metric: Metric, value: float) -> None:
    """Tell one number under every name it has."""
    device = place.device
    about = {"kind": metric.kind, "about": metric.about}
    if metric.own:
        families.add(f"netloom_{metric.own}", value, place.part, **about)
    elif device is None:
        _plain(families, metric, place.part, value, per_port=False)
    elif device.guid and metric.fabric:
        side = "hca" if device.is_host else "switch"
        families.add(f"infiniband_{side}_{metric.fabric}", value, place.fabric, **about)
        if device.is_host and metric.node:
            families.add(f"node_infiniband_{metric.node}", value, place.port, **about)
    elif not device.guid and metric.network:
        families.add(f"node_network_{metric.network}", value, place.network, **about)
    else:
        _plain(families, metric, place.port, value, per_port=True)
        if device.guid and device.is_host:
            _host_state(families, metric, place.port, value)


def _host_state(families: Families, metric: Metric, labels: str, value: float) -> None:
    """Tell state and rate of an adapter's port as node_exporter does."""
    if metric.name == "link_up":
        about = "State of the InfiniBand port (1: down, 4: active)."
        state = 4.0 if value else 1.0
        families.add("node_infiniband_state_id", state, labels, kind="gauge", about=about)
    elif metric.name == "rate_bps":
        name = "node_infiniband_rate_bytes_per_second"
        families.add(name, value / 8, labels, kind="gauge", about=metric.about)


def _rates(
    families: Families, devices: Mapping[str, DeviceIdentity], rates_bps: Mapping[str, float]
) -> None:
    """Tell the rate of each device's fastest port, as infiniband_exporter does."""
    for name, rate_bps in rates_bps.items():
        device = devices.get(name)
        if device is not None and device.guid:
            side = "hca" if device.is_host else "switch"
            families.add(
                f"infiniband_{side}_rate_bytes_per_second",
                rate_bps / 8,
                _labels(guid=device.guid),
                kind="gauge",
                about="Rate of the fastest port.",
            )


# What netloom_ families of numbers are called; a rate and a time have Prometheus' own units.
_OWN: Final = {
    "link_up": ("netloom_link_up", 1.0),
    "rate_bps": ("netloom_link_rate_bytes_per_second", 0.125),
    "bgp_up": ("netloom_bgp_session_up", 1.0),
    "bfd_up": ("netloom_bfd_session_up", 1.0),
    "bgp_prefixes": ("netloom_bgp_prefixes", 1.0),
    "rib_ways": ("netloom_rib_next_hops", 1.0),
    "fib_ways": ("netloom_fib_next_hops", 1.0),
    "divergent_routes": ("netloom_divergent_routes", 1.0),
    "unusable_next_hops": ("netloom_unusable_next_hops", 1.0),
    "sm_master": ("netloom_subnet_manager_master", 1.0),
    "step_s": ("netloom_step_seconds", 1.0),
    "collective_s": ("netloom_collective_seconds", 1.0),
    "bus_bandwidth_bps": ("netloom_bus_bandwidth_bytes_per_second", 0.125),
    "wrong_values": ("netloom_wrong_values", 1.0),
    "last_collective": ("netloom_last_collective", 1.0),
}
_PER_PORT: Final = frozenset({"link_up", "rate_bps", "bgp_up", "bfd_up", "bgp_prefixes"})


def _plain(
    families: Families, metric: Metric, labels: str, value: float, *, per_port: bool
) -> None:
    # A session or link of an interface that is no port of the design is left out.
    if metric.name in _OWN and (metric.name in _PER_PORT) == per_port:
        name, scale = _OWN[metric.name]
        families.add(name, scale * value, labels, kind="gauge", about=metric.about)


def _inventory(families: Families, now: Now) -> None:
    for name, device in now.devices.items():
        if device.guid:
            side = "hca" if device.is_host else "switch"
            labels = _labels(guid=device.guid, lid=device.lid, **{side: name})
            about = f"InfiniBand {side} information."
            families.add(f"infiniband_{side}_info", 1.0, labels, kind="gauge", about=about)
    for one in now.neighbours:
        here, there = now.devices.get(one.device), now.devices.get(one.peer)
        if here is None or there is None or here.is_host:
            continue
        labels = _labels(
            guid=here.guid,
            port=str(one.port),
            switch=one.device,
            uplink=one.peer,
            uplink_guid=there.guid,
            uplink_type="CA" if there.is_host else "SW",
            uplink_port=str(one.peer_port),
            uplink_lid=there.lid,
        )
        about = "InfiniBand switch uplink information."
        families.add("infiniband_switch_uplink_info", 1.0, labels, kind="gauge", about=about)


def _own(families: Families, now: Now) -> None:
    """Tell how the watch itself is."""
    for poll in now.polls:
        source = _labels(source=poll.source)
        about = "1 when the last look at a source went well."
        ok = float(not poll.error)
        families.add("netloom_source_up", ok, source, kind="gauge", about=about)
        about = "How long the last look at a source took."
        name = "netloom_poll_duration_seconds"
        families.add(name, poll.took_s, source, kind="gauge", about=about)
    for poll in now.good_polls:
        about = "When a source was last seen well."
        name = "netloom_last_success_timestamp_seconds"
        labels = _labels(source=poll.source)
        families.add(name, poll.time_s, labels, kind="gauge", about=about)
    for kind, count in (now.differences or {}).items():
        about = "Differences between the cables as built and as designed."
        name = "netloom_cabling_differences"
        families.add(name, float(count), _labels(kind=kind), kind="gauge", about=about)
    for one in now.findings[:MAX_FINDINGS]:
        about = "Confidence that a part is broken, while the finding is open."
        labels = _labels(part=one.part[:200], kind=one.kind)
        families.add(
            "netloom_finding_confidence", one.confidence, labels, kind="gauge", about=about
        )
    about = "Findings that are open, told one by one or not."
    families.add("netloom_findings_open", float(len(now.findings)), "", kind="gauge", about=about)
    about = "Whether this watch writes cases and alerts; 0 where another does, or none can."
    families.add("netloom_leading", float(now.leads), "", kind="gauge", about=about)
    about = "Size of the store, free pages not counted."
    families.add("netloom_store_bytes", float(now.store_bytes), "", kind="gauge", about=about)
    for outcome, count in now.remote.items():
        about = "Samples for the remote time-series engine, by what became of them."
        labels = _labels(outcome=outcome)
        name = "netloom_remote_write_samples_total"
        families.add(name, float(count), labels, kind="counter", about=about)
