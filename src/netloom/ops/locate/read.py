"""From observations by name to observations by number."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING

import numpy as np
from pydantic import ValidationError

from netloom.errors import SpecError, at
from netloom.fabric.graph import VertexKind
from netloom.fabric.names import find_vertex
from netloom.fabric.routing import ecmp
from netloom.fabric.routing.candidates import tables
from netloom.fabric.routing.flows import Flows, Paths
from netloom.ops.locate.loops import without_circles
from netloom.ops.locate.observations import Observations, PortLoad
from netloom.spec.observed import Observed, ObservedFlow
from netloom.units import format_count

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from netloom.fabric.graph import Fabric

__all__ = ["observations_of", "parse_observed"]


def parse_observed(text: str, where: str) -> Observed:
    """Return the observations in a JSON text.

    Raises:
        SpecError: it is not JSON, or a field is wrong; the message says which.
    """
    try:
        return Observed.model_validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(str(key) for key in first["loc"])
        others = error.error_count() - 1
        more = f" ({format_count(others, 'more problem')})" if others else ""
        said = "missing" if first["type"] == "missing" else first["msg"]
        raise SpecError(
            file=where,
            key=place,
            what=f"{said}{more}",
            remedy="correct it; docs/models/locate.md shows such a file",
        ) from error


def observations_of(fabric: Fabric, observed: Observed) -> Observations:
    """Return *observed* on *fabric*, every name looked up and every path known.

    Flows whose way ends before their target are left out: :func:`dead_ends` judges them.

    Raises:
        SpecError: a name is unknown, or a flow lost more than it sent; the message says which.
    """
    for number, flow in enumerate(observed.flows):
        if flow.lost > flow.packets:
            raise SpecError(
                key=f"flows.{number}",
                what=f"lost {flow.lost} of {flow.packets} packets",
                remedy="count again",
            )
    observed = observed.model_copy(update={"flows": _whole(observed)})
    flows = observed.flows
    names = _Names(fabric=fabric, between=_link_numbers(fabric))
    rib, fib = _ways(names, observed)
    packets, errors, pauses = _counters(names, observed)
    nan = np.nan
    return Observations(
        paths=_paths(names, observed),
        packets=np.array([flow.packets for flow in flows], dtype=np.int64),
        lost=np.array([flow.lost for flow in flows], dtype=np.int64),
        is_large=np.array([flow.large for flow in flows], dtype=bool),
        slowdown=np.array([nan if f.slowdown is None else f.slowdown for f in flows], dtype=float),
        delay_s=np.array([nan if f.delay_s is None else f.delay_s for f in flows], dtype=float),
        link_packets=packets,
        link_errors=errors,
        pause_share=pauses,
        rib_ways=rib,
        fib_ways=fib,
        load=_load(names, observed),
        labels=_labels(flows),
    )


def _labels(flows: tuple[ObservedFlow, ...]) -> tuple[str, ...]:
    labels = tuple(f"{flow.job} {flow.phase}".strip() for flow in flows)
    return labels if any(labels) else ()


def _load(names: _Names, observed: Observed) -> PortLoad | None:
    """Return what ports tell of queues and the like; None where none does."""
    told = {one.name: np.full(names.fabric.num_links, np.nan) for one in fields(PortLoad)}
    for row in observed.links:
        own = {
            "utilisation": row.utilisation,
            "queue_s": row.queue_s,
            "marked": row.marked_share,
            "dropped": row.dropped_share,
            "paused": row.pause_share,
            "dropped_small": row.dropped_small_share,
            "dropped_large": row.dropped_large_share,
        }
        for name, value in own.items():
            if value is not None:
                told[name][names.link(row.link)] = value
    known = any((~np.isnan(values)).any() for values in told.values())
    return PortLoad(**told) if known else None


def _whole(observed: Observed) -> tuple[ObservedFlow, ...]:
    """Return the flows that get to their target, over links that no other fills by circling."""
    return tuple(flow for flow in without_circles(observed.flows) if flow.ends_at is None)


def _link_numbers(fabric: Fabric) -> dict[tuple[int, int], list[int]]:
    """Return the links between two vertices, by their ends."""
    ends = zip(fabric.link_source.tolist(), fabric.link_target.tolist(), strict=True)
    numbers: dict[tuple[int, int], list[int]] = {}
    for number, pair in enumerate(ends):
        numbers.setdefault(pair, []).append(number)
    return numbers


@dataclass(frozen=True, slots=True, kw_only=True)
class _Names:
    """Vertices and links by name, each looked up once."""

    fabric: Fabric
    between: dict[tuple[int, int], list[int]]
    vertices: dict[str, int] = field(default_factory=dict)
    links: dict[str, int] = field(default_factory=dict)

    def vertex(self, name: str) -> int:
        if name not in self.vertices:
            self.vertices[name] = find_vertex(self.fabric, name)
        return self.vertices[name]

    def link(self, name: str) -> int:
        if name not in self.links:
            self.links[name] = _link(self, name)
        return self.links[name]


def _link(names: _Names, name: str) -> int:
    """Return the link called ``leaf:3->spine:0``, or ``leaf:3->spine:0#40`` with its cable."""
    ends, _, cable = name.partition("#")
    source, arrow, target = ends.partition("->")
    if not arrow:
        raise SpecError(
            what=f"{name[:80]!r} is not a link", remedy="write its ends, such as leaf:3->spine:0"
        )
    between = names.between.get((names.vertex(source), names.vertex(target)), [])
    found = [link for link in between if not cable or str(link // 2) == cable]
    if len(found) == 1:
        return found[0]
    if not between or cable:
        raise SpecError(what=f"{name[:80]!r}: no such cable joins the two")
    raise SpecError(
        what=f"{name[:80]!r}: {len(between)} cables join the two",
        remedy=f"say which: {ends}#{between[0] // 2} or another",
    )


def _paths(names: _Names, observed: Observed) -> Paths:
    """Return every flow's path: as given, or as the hash of its five-tuple has it."""
    routed = _routed(names, observed)
    paths: list[NDArray[np.int32]] = []
    for number, flow in enumerate(observed.flows):
        if flow.path is None:
            paths.append(routed.path(number))
        else:
            with at(f"flows.{number}.path"):
                own = [names.link(name) for name in flow.path]
            paths.append(np.array(own, dtype=np.int32))
    offsets = np.cumsum([0, *map(len, paths)], dtype=np.int64)
    every = np.concatenate(paths) if paths else np.empty(0, dtype=np.int32)
    return Paths(offsets=offsets, links=every)


def _routed(names: _Names, observed: Observed) -> Paths:
    fabric = names.fabric
    ends = []
    for number, flow in enumerate(observed.flows):
        with at(f"flows.{number}"):
            pair = names.vertex(flow.source), names.vertex(flow.target)
            _check_gpus(fabric, flow.source, flow.target, pair)
            ends.append(pair)
    pairs = np.array(ends, dtype=np.int64).reshape(-1, 2)
    port = np.array([flow.source_port for flow in observed.flows], dtype=np.uint16)
    flows = Flows(source=pairs[:, 0], target=pairs[:, 1], source_port=port)
    return ecmp.paths(tables(fabric), flows)


def _check_gpus(fabric: Fabric, source: str, target: str, pair: tuple[int, int]) -> None:
    for name, vertex in zip((source, target), pair, strict=True):
        if fabric.vertex_kind[vertex] != VertexKind.GPU:
            raise SpecError(what=f"{name[:80]!r} is no GPU", remedy="flows go from gpu:0 to gpu:1")


def _counters(
    names: _Names, observed: Observed
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    fabric = names.fabric
    packets = np.full(fabric.num_links, -1, dtype=np.int64)
    errors = np.full(fabric.num_links, -1, dtype=np.int64)
    pauses = np.full(fabric.num_links, np.nan)
    for number, row in enumerate(observed.links):
        with at(f"links.{number}.link"):
            link = names.link(row.link)
        if row.packets is not None:
            packets[link] = row.packets
        if row.errors is not None:
            errors[link] = row.errors
        if row.pause_share is not None:
            pauses[link] = row.pause_share
    return packets, errors, pauses


def _ways(names: _Names, observed: Observed) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    fabric = names.fabric
    rib = np.full(fabric.num_vertices, -1, dtype=np.int64)
    fib = np.full(fabric.num_vertices, -1, dtype=np.int64)
    for number, row in enumerate(observed.switches):
        with at(f"switches.{number}.switch"):
            vertex = names.vertex(row.switch)
        rib[vertex], fib[vertex] = row.rib_ways, row.fib_ways
    return rib, fib
