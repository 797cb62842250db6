"""A fabric at work with faults in it, as users and ports would see it: to try locating on.

Rates come from the flow engine, on the fabric as it is and as it should be; losses are drawn
flow by flow. Noise: flows that suffer for reasons of their own, slowdowns and delays that scatter,
ports whose counters are missing or rise without cause, losses that no counter shows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from netloom.engines.flow.run import run_flows
from netloom.fabric.graph import VertexKind
from netloom.fabric.routing import ecmp
from netloom.fabric.routing.candidates import tables
from netloom.fabric.routing.flows import Flows
from netloom.ops.locate.faults import FaultKind, Scope
from netloom.ops.locate.observations import Observations
from netloom.workload.transfers import Transfers

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from netloom.fabric.graph import Fabric
    from netloom.fabric.routing.flows import Paths
    from netloom.ops.locate.faults import FaultHypothesis

__all__ = ["Noise", "Scene", "scene_of", "watch"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Noise:
    """What makes observations worse than they could be; all assumed.

    Attributes:
        loss: Of a healthy link.
        odd_flows: Share of flows that lose 1e-4 of their packets, run slower by a half or answer
            late, for reasons of their own.
        rate: Standard deviation of the logarithm of a slowdown.
        delay_s: Of a round trip.
        missing: Share of ports whose counters are not there.
        odd_ports: Share of ports that count errors nobody suffers from.
        silent: Share of faults that no counter shows.
    """

    loss: float = 2e-9
    odd_flows: float = 1e-3
    rate: float = 0.05
    delay_s: float = 3e-6
    missing: float = 0.1
    odd_ports: float = 5e-3
    silent: float = 0.5


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Scene:
    """Traffic on a healthy fabric: long flows, and probes of small and of full packets.

    Attributes:
        flows: Who talks to whom; the long flows come first.
        num_long: How many are long.
        packets: Of each in one window.
        healthy_ps: When each long flow would end, all sharing the links.
    """

    fabric: Fabric
    flows: Flows
    paths: Paths
    num_long: int
    packets: NDArray[np.int64]
    is_large: NDArray[np.bool_]
    healthy_ps: NDArray[np.int64]


def scene_of(
    fabric: Fabric, rng: np.random.Generator, *, flows_per_gpu: int = 12, probes_per_gpu: int = 24
) -> Scene:
    """Return random traffic: long flows from every GPU, and probes of both sizes."""
    num_gpus = int(np.count_nonzero(fabric.vertex_kind == VertexKind.GPU))
    per_gpu = flows_per_gpu + probes_per_gpu
    source = np.tile(np.arange(num_gpus), per_gpu)
    target = np.concatenate([_elsewhere(fabric, num_gpus, rng) for _ in range(per_gpu)])
    port = rng.integers(49_152, 65_536, len(source)).astype(np.uint16)
    flows = Flows(source=source, target=target, source_port=port)
    num_long = flows_per_gpu * num_gpus
    long_packets = (10 ** rng.uniform(5, 6.3, num_long)).astype(np.int64)
    probes = np.full(len(source) - num_long, 500, dtype=np.int64)
    is_large = np.ones(len(source), dtype=bool)
    is_large[num_long::2] = False
    healthy = run_flows(fabric, _transfers(flows, num_long))
    return Scene(
        fabric=fabric,
        flows=flows,
        paths=ecmp.paths(tables(fabric), flows),
        num_long=num_long,
        packets=np.concatenate([long_packets, probes]),
        is_large=is_large,
        healthy_ps=healthy.finish_ps,
    )


def _elsewhere(fabric: Fabric, num_gpus: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return a GPU of another node for each GPU."""
    node = fabric.vertex_node[:num_gpus]
    target = rng.permutation(num_gpus)
    while (same := np.flatnonzero(node[target] == node)).size:
        target[same] = rng.integers(0, num_gpus, len(same))
    return np.asarray(target, dtype=np.int64)


def _transfers(flows: Flows, count: int) -> Transfers:
    nothing = np.zeros(count, dtype=np.int64)
    return Transfers(
        source=flows.source[:count].astype(np.int32),
        target=flows.target[:count].astype(np.int32),
        size_bytes=np.full(count, 2**24, dtype=np.int64),
        start_ps=nothing,
        delay_ps=nothing,
        source_port=flows.source_port[:count],
        priority=np.zeros(count, dtype=np.uint8),
        job=np.zeros(count, dtype=np.int32),
        wait_offsets=np.zeros(count + 1, dtype=np.int64),
        waits=np.empty(0, dtype=np.int32),
    )


def watch(
    scene: Scene,
    faults: tuple[FaultHypothesis, ...],
    rng: np.random.Generator,
    noise: Noise | None = None,
) -> Observations:
    """Return what one window shows of *scene* with *faults* in it."""
    noise = noise or Noise()
    fabric, num_flows = scene.fabric, len(scene.packets)
    flow = np.repeat(np.arange(num_flows), np.diff(scene.paths.offsets))
    odd = rng.random(num_flows) < noise.odd_flows
    loss = _losses(scene, faults, flow, noise, rng)
    loss[odd] = np.maximum(loss[odd], 1e-4)
    crossing = flow, scene.paths.links
    carried = np.bincount(
        scene.paths.links, weights=scene.packets[flow], minlength=fabric.num_links
    ).astype(np.int64)
    return Observations(
        paths=scene.paths,
        packets=scene.packets,
        lost=rng.binomial(scene.packets, np.minimum(loss, 1.0)),
        is_large=scene.is_large,
        slowdown=_slowdowns(scene, faults, odd, noise, rng),
        delay_s=_delays(scene, faults, crossing, odd, noise, rng),
        link_packets=carried,
        link_errors=_errors(fabric, faults, carried, noise, rng),
        pause_share=np.zeros(fabric.num_links),
        rib_ways=np.full(fabric.num_vertices, -1, dtype=np.int64),
        fib_ways=np.full(fabric.num_vertices, -1, dtype=np.int64),
    )


def _links(fabric: Fabric, fault: FaultHypothesis) -> NDArray[np.int64]:
    """Return the links that a fault sits on; of a switch, those that enter it."""
    if fault.scope is Scope.LINK:
        return np.array([fault.index])
    if fault.scope is Scope.SWITCH:
        return np.flatnonzero(fabric.link_target == fault.index)
    return np.array([2 * fault.index, 2 * fault.index + 1])


def _losses(
    scene: Scene,
    faults: tuple[FaultHypothesis, ...],
    flow: NDArray[np.int64],
    noise: Noise,
    rng: np.random.Generator,
) -> NDArray[np.float64]:
    kept = np.full(len(scene.packets), 1.0)
    kept *= (1 - noise.loss) ** np.diff(scene.paths.offsets)
    for fault in faults:
        hit = np.zeros(len(kept), dtype=bool)
        hit[flow[np.isin(scene.paths.links, _links(scene.fabric, fault))]] = True
        if fault.kind is FaultKind.LOSS:
            kept[hit] *= 1 - fault.magnitude
        elif fault.kind is FaultKind.LARGE_LOSS:
            kept[hit & scene.is_large] *= 1 - fault.magnitude
        elif fault.kind is FaultKind.BLACK_HOLE:
            kept[hit & (rng.random(len(kept)) < fault.magnitude)] = 0.0
    return 1 - kept


def _slowdowns(
    scene: Scene,
    faults: tuple[FaultHypothesis, ...],
    odd: NDArray[np.bool_],
    noise: Noise,
    rng: np.random.Generator,
) -> NDArray[np.float64]:
    """Return how much longer long flows take; probes say nothing of rates."""
    slow = np.ones(scene.fabric.num_links, dtype=np.float32)
    for fault in faults:
        if fault.kind is FaultKind.SLOW:
            slow[_links(scene.fabric, fault)] = fault.magnitude
    ratio = np.ones(scene.num_long)
    if (slow > 1).any():
        broken = replace(scene.fabric, link_slowdown=scene.fabric.link_slowdown * slow)
        found = run_flows(broken, _transfers(scene.flows, scene.num_long))
        ratio = found.finish_ps / scene.healthy_ps
    ratio = ratio * np.exp(rng.normal(0, noise.rate, scene.num_long))
    ratio[odd[: scene.num_long]] *= 1.5
    return np.concatenate([ratio, np.full(len(scene.packets) - scene.num_long, np.nan)])


def _delays(
    scene: Scene,
    faults: tuple[FaultHypothesis, ...],
    crossing: tuple[NDArray[np.int64], NDArray[np.int32]],
    odd: NDArray[np.bool_],
    noise: Noise,
    rng: np.random.Generator,
) -> NDArray[np.float64]:
    """Return how much later probes are answered; long flows queue and say nothing of delay."""
    flow, links = crossing
    delay_s = np.abs(rng.normal(0, noise.delay_s, len(scene.packets)))
    for fault in faults:
        if fault.kind is FaultKind.DELAY:
            hit = flow[np.isin(links, _links(scene.fabric, fault))]
            delay_s[np.unique(hit)] += fault.magnitude
    delay_s[odd] += 50e-6
    delay_s[: scene.num_long] = np.nan
    return delay_s


def _errors(
    fabric: Fabric,
    faults: tuple[FaultHypothesis, ...],
    carried: NDArray[np.int64],
    noise: Noise,
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    rate = np.full(fabric.num_links, noise.loss)
    for fault in faults:
        if fault.kind is FaultKind.LOSS and rng.random() >= noise.silent:
            rate[_links(fabric, fault)] = fault.magnitude
    errors = rng.binomial(carried, rate)
    strange = rng.random(fabric.num_links) < noise.odd_ports
    errors[strange] += rng.integers(1, 50, int(strange.sum()))
    errors[rng.random(fabric.num_links) < noise.missing] = -1
    return errors
