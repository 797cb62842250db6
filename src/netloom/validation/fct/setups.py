"""The networks and settings of published completion times, by the names of data/fct_cases.csv.

How UET's endpoints and switches are set stands in `validate_fct_uet`; NDP's, IRN's and RoCE's in
`validate_fct_lossy`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from netloom.fabric.wiring.plain import CableList, wire_up
from netloom.validation.fct.lossy import LOSSY_SETTINGS
from netloom.validation.fct.uet import (
    FAILED_SHARE,
    UET_WORDS,
    has_uet,
    is_uet,
    uet_settings,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from netloom.engines.packet import PacketSettings
    from netloom.fabric.wiring.wiring import PacketTopology
    from netloom.validation.fct.case import FctCase

__all__ = ["NETWORK_NAMES", "network_of", "scheme_problem", "settings_of_case"]

_US: Final = 1_000_000
_UET_NAMES: Final = {"mrc": "nscc-retiring", "reps": "nscc-reps"}  # both trim


def network_of(name: str) -> PacketTopology:
    """Return the network that a case names."""
    return _NETWORKS[name]()


def settings_of_case(case: FctCase, wiring: PacketTopology) -> PacketSettings:
    """Return how endpoints and switches of a case behave."""
    if case.scheme in LOSSY_SETTINGS:
        return LOSSY_SETTINGS[case.scheme](case.num_paths)
    scheme = _UET_NAMES.get(case.scheme, case.scheme)
    return uet_settings(scheme, fabric=case.fabric, num_paths=case.num_paths, wiring=wiring)


def scheme_problem(scheme: str, fabric: str) -> str:
    """Return why a case cannot have *scheme* on *fabric*; nothing where it can."""
    if scheme in LOSSY_SETTINGS:
        return ""
    if not is_uet(_UET_NAMES.get(scheme, scheme)):
        return f"{scheme!r} is not known; choose {', '.join((*LOSSY_SETTINGS, *UET_WORDS))}"
    if not has_uet(fabric):
        return f"{scheme!r} is Ultra Ethernet's, whose queues on {fabric} are not published"
    return ""


# ---- networks


def _wired(
    cables: list[tuple[int, int]], num_hosts: int, rate_bps: float, delay_ps: int
) -> PacketTopology:
    lower, upper = (np.array(column, dtype=np.int64) for column in zip(*cables, strict=True))
    num_vertices = int(upper.max()) + 1
    return wire_up(
        CableList(
            lower=lower,
            upper=upper,
            rate_bps=np.full(len(lower), rate_bps),
            delay_ps=np.full(len(lower), delay_ps),
            up=np.ones(len(lower), dtype=np.bool_),
        ),
        num_endpoints=num_hosts,
        name=tuple(f"node:{vertex}" for vertex in range(num_vertices)),
        forward_ps=np.zeros(num_vertices, dtype=np.int64),
    )


def _two_tiers(num_hosts: int, per_leaf: int, rate_bps: float, *, taper: int = 1) -> PacketTopology:
    """Return an uplink for each *taper* hosts of a leaf, each to its own spine; links of 1 us."""
    num_leaves = num_hosts // per_leaf
    down = [(host, num_hosts + host // per_leaf) for host in range(num_hosts)]
    spine = num_hosts + num_leaves
    up = [
        (num_hosts + leaf, spine + k)
        for leaf in range(num_leaves)
        for k in range(per_leaf // taper)
    ]
    return _wired(down + up, num_hosts, rate_bps, _US)


def _planes(num_planes: int, num_hosts: int, per_leaf: int, rate_bps: float) -> PacketTopology:
    """Return as many networks of two tiers side by side, of which each host has a port in all."""
    num_leaves = num_hosts // per_leaf
    cables = []
    for plane in range(num_planes):
        leaf = num_hosts + plane * (num_leaves + per_leaf)
        spine = leaf + num_leaves
        cables += [(host, leaf + host // per_leaf) for host in range(num_hosts)]
        cables += [(leaf + n, spine + k) for n in range(num_leaves) for k in range(per_leaf)]
    return _wired(cables, num_hosts, rate_bps, _US)


def _three_tiers(radix: int, rate_bps: float, delay_ps: int = _US) -> PacketTopology:
    """Return the fat tree of switches with *radix* ports (Al-Fares et al., SIGCOMM 2008)."""
    half = radix // 2
    num_hosts = radix * half * half
    edge, middle = num_hosts, num_hosts + radix * half
    top = middle + radix * half
    switches = range(radix * half)
    cables = [(host, edge + host // half) for host in range(num_hosts)]
    cables += [(edge + s, middle + s // half * half + k) for s in switches for k in range(half)]
    cables += [(middle + s, top + s % half * half + k) for s in switches for k in range(half)]
    return _wired(cables, num_hosts, rate_bps, delay_ps)


def _failed_core(radix: int, rate_bps: float, num_failed: int) -> PacketTopology:
    """Return the fat tree with that many slow links from its top to the first pod's switches.

    They are slow downwards alone (uet-htsim fat_tree_topology.cpp, init_network).
    """
    wiring = _three_tiers(radix, rate_bps)
    half = radix // 2
    middle = radix * half * half + radix * half  # where the pods' upper switches begin
    top = middle + radix * half
    down = np.flatnonzero((wiring.link_source >= top) & (wiring.link_target >= middle))
    down = down[np.lexsort((wiring.link_source[down], wiring.link_target[down]))]
    return _slowed(wiring, down[:num_failed])


def _failed_spine(wiring: PacketTopology) -> PacketTopology:
    """Return the network with all links of one spine slow, both ways."""
    last = wiring.num_vertices - 1
    return _slowed(
        wiring, np.flatnonzero((wiring.link_source == last) | (wiring.link_target == last))
    )


def _slowed(wiring: PacketTopology, links: NDArray[np.int64]) -> PacketTopology:
    rate_bps = wiring.link_rate_bps.copy()
    rate_bps[links] *= FAILED_SHARE
    return replace(wiring, link_rate_bps=rate_bps)


def _experiment_1(rate_bps: float, taper: int) -> Callable[[], PacketTopology]:
    return lambda: _two_tiers(8192, 64, rate_bps, taper=taper)


_NETWORKS: Final[Mapping[str, Callable[[], PacketTopology]]] = {
    **{
        f"uec-8192{rate}{name}": _experiment_1(rate_bps, taper)
        for rate, rate_bps in (("-200g", 200e9), ("", 400e9), ("-800g", 800e9))
        for name, taper in (("", 1), ("-4to1", 4), ("-8to1", 8))
    },
    "uec-8192-failed-1": lambda: _failed_spine(_two_tiers(8192, 64, 400e9)),
    "uec-16-failed-1": lambda: _failed_core(4, 100e9, 1),
    "uec-1024-failed-1": lambda: _failed_core(16, 100e9, 1),
    "uec-1024-failed-8": lambda: _failed_core(16, 100e9, 8),
    "uec-1024-q500": lambda: _three_tiers(16, 100e9),
    "uec-1024-q500-failed-8": lambda: _failed_core(16, 100e9, 8),
    "uec-1024-4to1": lambda: _two_tiers(1024, 32, 100e9, taper=4),
    "uec-1024-8to1": lambda: _two_tiers(1024, 32, 100e9, taper=8),
    "uec-16": lambda: _three_tiers(4, 100e9),
    "uec-128": lambda: _three_tiers(8, 100e9),
    "uec-1024": lambda: _three_tiers(16, 100e9),
    "ndp-432": lambda: _three_tiers(12, 10e9, delay_ps=_US // 2),
    "irn-54": lambda: _three_tiers(6, 40e9, delay_ps=2 * _US),
    "mrc-64": lambda: _two_tiers(64, 8, 100e9),
    "mrc-64-800g": lambda: _two_tiers(64, 8, 800e9),
    "mrc-planes": lambda: _planes(8, 16, 4, 100e9),
    "reps-64": lambda: _two_tiers(64, 16, 400e9),
    "dcqcn-21": lambda: _wired([(host, 21) for host in range(21)], 21, 40e9, _US),
}
NETWORK_NAMES: Final = tuple(_NETWORKS)
