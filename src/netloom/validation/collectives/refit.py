"""Take the constants of collectives from other rows than those that shipped ones come from.

Durations are linear in each of these constants where it matters: a hop in small messages, a NIC's
share in large ones; :mod:`netloom.study.calibrate.fitting` says what a row implies. A constant that
no row determines falls back to its kin.
"""

from __future__ import annotations

from collections import defaultdict
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from netloom.engines.analytic.peers import partners_waiting, peers, with_peers
from netloom.engines.analytic.profile import profile_of, with_profile
from netloom.engines.analytic.tables import HW_US, PROTOCOLS, Algorithm, LinkKind, Protocol
from netloom.engines.analytic.ways import way_of, with_ways
from netloom.engines.base import bus_factor
from netloom.errors import NetloomError
from netloom.study.calibrate.fitting import STEP, TimedCollective, median_by_machine, solved
from netloom.validation.collectives.machines import machine_of
from netloom.validation.collectives.measured import case_of
from netloom.workload.collective import CollectiveKind

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from netloom.compute.generation import Constant
    from netloom.engines.analytic.ways import Way
    from netloom.fabric.network import Network
    from netloom.parts.load import Catalog
    from netloom.validation.collectives.measurement import Measurement
    from netloom.workload.collective import Collective

__all__ = ["refit"]

_RINGED: Final = (
    CollectiveKind.ALL_REDUCE,
    CollectiveKind.ALL_GATHER,
    CollectiveKind.REDUCE_SCATTER,
)
_KIB, _MIB, _GIB = 2.0**10, 2.0**20, 2.0**30
# Whose constants stand in for a plugin that only the machine left out was measured with.
_KIN: Final = {
    "aws-ofi-nccl over EFA v1": "aws-ofi-nccl over EFA v2",
    "aws-ofi-nccl over EFA v2": "aws-ofi-nccl over EFA v1",
    "GPUDirect-TCPX": "GPUDirect-TCPXO",
    "GPUDirect-TCPXO": "aws-ofi-nccl over EFA v2",
}
# Their share of a NIC was not taken from these rows.
_PUBLISHED_SHARE: Final = frozenset({"verbs", "sockets", "libfabric over Slingshot"})
# Where no row says what a partner takes: a hop of NCCL's own table.
_NET_HOP_S: Final = HW_US[LinkKind.NET][Algorithm.RING][PROTOCOLS.index(Protocol.SIMPLE)] * 1e-6
# Where no row says what is left of NICs that GPUs share: of four GPUs on two NICs the one that two
# of them have no preference over is the first (ncclTopoGetLocalNet), which then serves three.
_FIRST_NIC_SHARE: Final = 2 / 3


@contextmanager
def refit(rows: Sequence[Measurement], catalog: Catalog) -> Iterator[Catalog]:
    """Use constants that come from *rows* alone while the context lasts; yields the catalogue."""
    seen = tuple(filter(None, (_seen(row, catalog) for row in rows if _is_good(row))))
    with ExitStack() as stack:
        stack.enter_context(with_ways(_ways(seen)))
        _set_launch(seen, stack)
        _set_peers(seen, stack)
        yield catalog


def _is_good(row: Measurement) -> bool:
    return row.status in {"ok", ""} and bool(row.size_bytes) and "vTrain" not in row.source


@lru_cache(maxsize=8192)
def _case(row: Measurement) -> tuple[Collective, Network] | None:
    from netloom.parts.load import load_catalog  # noqa: PLC0415

    try:
        case = case_of(row, load_catalog())
    except NetloomError:
        return None
    return case.collective, case.network


def _seen(row: Measurement, _catalog: Catalog) -> TimedCollective | None:
    case = _case(row)
    if case is None:
        return None
    collective, network = case
    time_s = bus_factor(collective) * collective.size_bytes / (row.bus_gbps * 1e9)
    return TimedCollective(
        machine=machine_of(row), collective=collective, network=network, time_s=time_s
    )


def _way(one: TimedCollective) -> Way:
    """Return the library's way to the wire."""
    return way_of(one.network.technology, one.network.nic.name, one.network.net)


def _ways(seen: Sequence[TimedCollective]) -> tuple[Way, ...]:
    """Return the ways refitted, each with those of its kin where no row is left."""
    groups: defaultdict[str, list[TimedCollective]] = defaultdict(list)
    known: dict[str, Way] = {}
    for one in seen:
        if one.collective.group.num_nodes > 1 and one.collective.kind in _RINGED:
            groups[_way(one).name].append(one)
            known[_way(one).name] = _way(one)
    fitted = {name: _fitted_way(known[name], tuple(some)) for name, some in groups.items()}
    for name, kin in _KIN.items():
        if name not in fitted and kin in fitted:
            fitted[name] = replace(fitted[kin], name=name)
    return tuple(fitted.values())


# What decides each constant: the rows of these sizes; the least that it can be.
_DECIDED_BY: Final = (
    ("nic_share", 512 * _MIB, float("inf"), 0.1),
    ("hop_s", 0.0, 4 * _KIB, 0.0),
    ("rendezvous_s", _MIB, 256 * _MIB, 0.0),
)


def _fitted_way(way: Way, some: tuple[TimedCollective, ...]) -> Way:
    machines = frozenset(one.machine for one in some)
    return _cached_way(way, machines, some)


_WAYS: Final[dict[tuple[str, frozenset[str], int], Way]] = {}


def _cached_way(way: Way, machines: frozenset[str], some: tuple[TimedCollective, ...]) -> Way:
    key = (way.name, machines, len(some))
    if key not in _WAYS:
        fitted = way
        for name, least, most, floor in _DECIDED_BY:
            if name == "nic_share" and way.name in _PUBLISHED_SHARE:
                continue
            rows = tuple(one for one in some if least <= one.collective.size_bytes < most)
            if name == "rendezvous_s":  # NCCL's, not RCCL's, whose rings are of another form
                rows = tuple(one for one in rows if _hides_steps(one))
            fitted = _with_constant(fitted, name, rows, floor=floor)
        _WAYS[key] = fitted
    return _WAYS[key]


def _hides_steps(one: TimedCollective) -> bool:
    return profile_of(one.network.gpu.architecture).hides_steps


def _with_constant(way: Way, name: str, some: Sequence[TimedCollective], *, floor: float) -> Way:
    known: Constant = getattr(way, name)
    start = known.value or 10e-6
    base = _changed(way, name, start)
    moved = _changed(way, name, start * STEP)

    def implied(one: TimedCollective) -> float | None:
        with with_ways((base,)):
            here = one.predicted_s()
        with with_ways((moved,)):
            there = one.predicted_s()
        return solved(start, here, there, one.time_s, inverse=name == "nic_share")

    value = median_by_machine(some, implied)
    return way if value is None else _changed(way, name, max(floor, value))


def _changed(way: Way, name: str, value: float) -> Way:
    constant: Constant = getattr(way, name)
    changed = replace(constant, value=value)
    if name == "nic_share":
        return replace(way, nic_share=changed)
    if name == "hop_s":
        return replace(way, hop_s=changed)
    return replace(way, rendezvous_s=changed)


def _set_launch(seen: Sequence[TimedCollective], stack: ExitStack) -> None:
    """Take the launch on A100 nodes from the small collectives inside them."""
    profile = profile_of("ampere")
    if profile.launch_s is None:
        return
    small = [
        one
        for one in seen
        if one.collective.group.num_nodes == 1
        and one.collective.kind is not CollectiveKind.ALL_TO_ALL
        and one.network.gpu.architecture == "Ampere"
        and one.collective.size_bytes <= 64 * _KIB
    ]
    value = median_by_machine(small, lambda one: one.time_s / one.collective.group.per_node)
    launch = None if value is None else replace(profile.launch_s, value=value)
    stack.enter_context(with_profile("ampere", replace(profile, launch_s=launch)))


def _waiting(one: TimedCollective) -> int:
    return partners_waiting(one.collective.group)


def _set_peers(seen: Sequence[TimedCollective], stack: ExitStack) -> None:
    """Take what all-to-alls and messages between nodes cost and reach from the rows that say so."""
    used = peers()
    between = [one for one in seen if one.collective.group.num_nodes > 1]
    spread = [one for one in between if one.collective.kind is CollectiveKind.ALL_TO_ALL]
    passed = [one for one in between if one.collective.kind is CollectiveKind.SEND_RECV]
    large = [one for one in spread if one.collective.size_bytes >= _GIB]
    own = [one for one in large if one.network.node.num_nics >= one.network.node.num_gpus]
    shared = [one for one in large if one.network.node.num_nics < one.network.node.num_gpus]
    alone = [one for one in passed if one.collective.group.num_nodes == 2]
    far = [one for one in spread if one.collective.group.size > 128]
    far = [one for one in far if one.collective.size_bytes <= _MIB]

    def reached(
        known: Constant, some: Sequence[TimedCollective], otherwise: float = 1.0
    ) -> Constant:
        value = median_by_machine(some, lambda one: known.value * one.predicted_s() / one.time_s)
        return replace(known, value=otherwise if value is None else min(1.0, value))

    def each(known: Constant, some: Sequence[TimedCollective]) -> Constant:
        value = median_by_machine(
            some,
            lambda one: known.value + (one.time_s - one.predicted_s()) / _waiting(one),
        )
        otherwise = _NET_HOP_S - used.partner.value
        return replace(known, value=otherwise if value is None else max(0.0, value))

    fitted = replace(
        used,
        many=reached(used.many, own),
        many_shared=reached(used.many_shared, shared, _FIRST_NIC_SHARE),
        alone=reached(used.alone, alone),
        far_partner=each(used.far_partner, far),
    )
    stack.enter_context(with_peers(fitted))
