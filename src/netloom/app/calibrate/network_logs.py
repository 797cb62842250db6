"""Calibrate a network to logs of nccl-tests, perftest and others that were taken on it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from netloom.app.calibrate.logs import read_logs
from netloom.app.calibrate.own_file import catalog_without, write_section
from netloom.errors import SpecError
from netloom.parts.load import load_catalog
from netloom.study.calibrate.benchmark_network import benchmark_network
from netloom.study.calibrate.calibration import SkippedLines, calibrated
from netloom.study.calibrate.cluster import node_of_facts, technology_of_facts
from netloom.study.calibrate.fitting import TimedCollective
from netloom.study.calibrate.own_catalog import network_section
from netloom.study.networks import network_of, num_nodes_of
from netloom.workload.collective import Collective, CollectiveKind, Group

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Sequence

    from netloom.app.calibrate.logs import LoggedTiming, NetworkLogs
    from netloom.fabric.network import Network
    from netloom.parts.load import Catalog
    from netloom.parts.parts import Node, Technology
    from netloom.spec.scenario import Scenario
    from netloom.study.calibrate.calibration import NetworkCalibration

__all__ = ["network"]


@dataclass(frozen=True, slots=True, kw_only=True)
class _MeasuredCluster:
    """The cluster that logs are of.

    Attributes:
        node: Its node.
        technology: Its technology, both as they are without this calibration.
        num_nodes: How many; 0 where nothing says so, which is as many as were measured.
        network: Returns its network as *num_nodes* of it use it.
    """

    node: Node
    technology: Technology
    num_nodes: int
    network: Callable[[int], Network]


def network(
    logs: Sequence[str | os.PathLike[str]],
    *,
    scenario: Scenario | None = None,
    node: str = "",
    technology: str = "",
    nodes: int | None = None,
    catalog: str | os.PathLike[str] | None = None,
) -> NetworkCalibration:
    """Read start-up, ramp and shares of a network off logs that were taken on it.

    >>> import netloom as nl
    >>> found = nl.calibrate.network(
    ...     ["allreduce.log"], node="dgx-h100", technology="infiniband-ndr", catalog="own.toml"
    ... )  # doctest: +SKIP

    Args:
        logs: What nccl-tests, rccl-tests, OSU, perftest, sockperf, iperf3 or NCCL printed.
        scenario: The cluster; instead of *node* and *technology*.
        node: Its node by the catalogue's name; default: the one that the logs tell.
        technology: Its technology, likewise.
        nodes: Hosts of runs whose logs do not say on how many they ran.
        catalog: A file of parts to read first, and to write what was found to; its own part of
            the file is replaced, the rest stays.

    Raises:
        SpecError: a log cannot be read, or does not tell the cluster, or all of them decide
            no constant.
        CatalogError: the file of parts is wrong, or has these parts by hand already.
        OutputError: it cannot be written.
    """
    found = read_logs([Path(log) for log in logs])
    own = None if catalog is None else Path(catalog)
    cluster = _cluster(found, scenario, node, technology, own)
    rows, skipped = _rows(found, cluster, nodes)
    measured_on = max((row.collective.group.num_nodes for row in rows), default=2)
    num_nodes = cluster.num_nodes or measured_on
    files = tuple(Path(log).name for log in logs)
    result = calibrated(
        rows,
        found.messages,
        network=cluster.network(num_nodes),
        num_nodes=num_nodes,
        files=files,
        skipped=(*found.skipped, *skipped),
    )
    result = replace(result, notes=(*result.notes, *_version_notes(found)))
    if own is None:
        return result
    section = network_section(result.fit, cluster.technology, files)
    write_section(own, _section_name(cluster.node.name, cluster.technology.name), section)
    return replace(result, catalog=str(own))


def _section_name(node: str, technology: str) -> str:
    return f"network {node} {technology}"


def _cluster(
    logs: NetworkLogs, scenario: Scenario | None, node: str, technology: str, own: Path | None
) -> _MeasuredCluster:
    """Return the cluster as named, or as the logs tell it."""
    if scenario is not None:
        return _of_scenario(scenario, node, technology, own)
    before = load_catalog(own if own is not None and own.exists() else None)
    wire = before.technology(technology) if technology else technology_of_facts(logs.facts, before)
    machine = before.node(node) if node else node_of_facts(logs.facts, wire, before)
    parts = catalog_without(own, _section_name(machine.name, wire.name))
    chosen, wire = _with_nic(parts.nodes[machine.name], parts.technologies[wire.name])
    return _MeasuredCluster(
        node=chosen,
        technology=wire,
        num_nodes=0,
        network=lambda num_nodes: benchmark_network(chosen, wire, num_nodes, parts),
    )


def _with_nic(node: Node, technology: Technology) -> tuple[Node, Technology]:
    """Return the node with the NIC that the technology brings."""
    return node.model_copy(update={"nic": technology.nic}), technology


def _of_scenario(
    scenario: Scenario, node: str, technology: str, own: Path | None
) -> _MeasuredCluster:
    if node or technology:
        raise SpecError(
            option="--node" if node else "--technology",
            what="the scenario names it already",
            remedy="leave one out",
        )
    cluster = scenario.cluster
    path = own if scenario.catalog is None else Path(scenario.catalog)
    parts = _parts_of(path, cluster.node, cluster.fabric.technology)
    whole = network_of(cluster, parts)
    return _MeasuredCluster(
        node=whole.node,
        technology=whole.technology,
        num_nodes=num_nodes_of(cluster, whole.node),
        network=lambda _num_nodes: whole,
    )


def _parts_of(own: Path | None, node: str, technology: str) -> Catalog:
    """Return the parts without what a run before has written of this cluster."""
    known = load_catalog(own if own is not None and own.exists() else None)
    name = _section_name(known.node(node).name, known.technology(technology).name)
    return catalog_without(own, name)


def _rows(
    logs: NetworkLogs, cluster: _MeasuredCluster, nodes: int | None
) -> tuple[list[TimedCollective], list[SkippedLines]]:
    rows, skipped = [], []
    networks: dict[int, Network] = {}
    for timing in logs.timings:
        why, num_nodes = _nodes_of(timing, cluster, nodes)
        if why:
            skipped.append(SkippedLines(file=timing.where.partition(":")[0], why=why, num_rows=1))
            continue
        if num_nodes not in networks:
            networks[num_nodes] = cluster.network(num_nodes)
        rows.append(_row(timing, num_nodes, networks[num_nodes]))
    return rows, _together(skipped)


def _nodes_of(
    timing: LoggedTiming, cluster: _MeasuredCluster, nodes: int | None
) -> tuple[str, int]:
    """Return why a row cannot be placed, or on how many nodes it ran."""
    hosts = timing.num_hosts or nodes or 0
    if not hosts:
        return "the log does not say on how many hosts it ran; --nodes says so", 0
    num_nodes = -(-hosts // cluster.node.num_hosts)
    if not num_nodes <= timing.num_ranks <= num_nodes * cluster.node.num_gpus:
        nodes_said = f"{num_nodes} x {cluster.node.name} of {cluster.node.num_gpus} GPUs"
        return f"{timing.num_ranks} ranks do not fit {nodes_said}", 0
    if cluster.num_nodes and num_nodes > cluster.num_nodes:
        return f"{num_nodes} nodes are more than the scenario has ({cluster.num_nodes})", 0
    return "", num_nodes


def _row(timing: LoggedTiming, num_nodes: int, on: Network) -> TimedCollective:
    group = Group(size=timing.num_ranks, per_node=-(-timing.num_ranks // num_nodes))
    return TimedCollective(
        machine="own",
        collective=Collective(
            kind=CollectiveKind(timing.collective),
            size_bytes=float(timing.size_bytes),
            group=group,
        ),
        network=on,
        time_s=timing.time_s,
        where=timing.where,
    )


def _together(skipped: Sequence[SkippedLines]) -> list[SkippedLines]:
    counts: dict[tuple[str, str], int] = {}
    for one in skipped:
        counts[one.file, one.why] = counts.get((one.file, one.why), 0) + one.num_rows
    return [
        SkippedLines(file=file, why=why, num_rows=count) for (file, why), count in counts.items()
    ]


def _version_notes(logs: NetworkLogs) -> tuple[str, ...]:
    if len(logs.versions) < 2:
        return ()
    named = ", ".join(sorted(logs.versions))
    said = f"The logs are of several versions of the library ({named}), which can differ by more"
    return (f"{said} than a network does; calibrate each alone.",)
