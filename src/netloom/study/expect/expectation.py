"""What nccl-tests should show on a scenario's cluster, and what is wrong where it shows less."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from netloom.engines.base import bus_factor
from netloom.errors import SpecError
from netloom.provenance import Why
from netloom.results.explained import Explained
from netloom.results.table import Table
from netloom.results.tabular import Tabular
from netloom.study.expect.curve import TestRun, expected
from netloom.study.expect.diagnosis import MeasuredPoint, diagnose
from netloom.study.expect.spread import SHARE
from netloom.study.networks import network_of
from netloom.workload.collective import Collective, CollectiveKind, Group

if TYPE_CHECKING:
    from collections.abc import Sequence

    from netloom.fabric.network import Network
    from netloom.parts.load import Catalog
    from netloom.spec.scenario import Scenario
    from netloom.study.expect.curve import ExpectedPoint
    from netloom.study.expect.diagnosis import Diagnosis
    from netloom.study.expect.facts import SetupFacts

__all__ = ["Expectation", "ExpectedCurve", "MeasuredTest", "expect_collectives", "expect_tests"]

_KEPT = ("name", "title", "how", "probability", "error_pct", "says", "remedy")


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredTest:
    """One test of a log.

    Attributes:
        log: Where it stands.
        num_ranks: That took part; 0 where the log does not say.
        num_nodes: Hosts they ran on, likewise.
        times: Sizes in bytes with the time of one operation, and whether it is a dip.
        facts: What the library's own log says; None without one.
        notes: What was left out of it, a sentence each.
    """

    log: str
    kind: CollectiveKind
    num_ranks: int
    num_nodes: int
    times: tuple[tuple[float, float, bool], ...]
    facts: SetupFacts | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedCurve:
    """One collective over its sizes; *measured* and *diagnosis* where it was measured."""

    run: TestRun
    points: tuple[ExpectedPoint, ...]
    measured: tuple[MeasuredPoint, ...] = ()
    diagnosis: Diagnosis | None = None
    log: str = ""
    notes: tuple[str, ...] = ()

    @property
    def inside(self) -> int:
        """Sizes inside what was validated."""
        return sum(one.inside for one in self.points)

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why sizes are outside, each once, in order."""
        return tuple(dict.fromkeys(one.reason for one in self.points if one.reason))

    def why(self) -> Why:
        """Return how the time at the largest size came about."""
        last = self.points[-1]
        return Why(
            name=f"time of {self.run.kind.value} at {last.size_bytes:.0f} B",
            value=last.time_s,
            unit="s",
            how="analytic engine",
            parts=(last.why,),
        )

    def to_json(self) -> dict[str, Any]:
        """Return the stable keys that docs/json.md documents."""
        group, found = self.run.group, self.diagnosis
        named = None if found is None else found.named
        return {
            "collective": self.run.kind.value,
            "nodes": group.num_nodes,
            "ranks": group.size,
            "inside": self.inside,
            "log": self.log,
            "notes": list(self.notes),
            "sizes": [_row(self, index) for index in range(len(self.points))],
            "verdict": "" if found is None else found.verdict,
            "below": 0 if found is None else len(found.below),
            "cause": "" if named is None else named.name,
            "probability": None if named is None else named.probability,
            "remedy": "" if named is None else named.remedy,
            "ratio_designed": None if found is None else found.ratio_designed,
            "ratio_next": None if found is None else found.ratio_next,
            "worth": _worth(found),
            "causes": [] if found is None else [_cause(one) for one in found.causes],
        }


def _cause(one: object) -> dict[str, Any]:
    return {key: getattr(one, key) for key in _KEPT}


def _worth(found: Diagnosis | None) -> dict[str, float | None] | None:
    if found is None or found.worth_bytes is None:
        return None
    return {
        "size_bytes": found.worth_bytes,
        "expected_gbps": found.worth_gbps,
        "measured_gbps": found.measured_gbps,
    }


def _row(curve: ExpectedCurve, index: int) -> dict[str, Any]:
    point = asdict(curve.points[index])
    del point["why"], point["spread"]
    got = curve.measured[index] if curve.measured else None
    return point | {
        "measured_s": None if got is None else got.time_s,
        "measured_gbps": None if got is None else got.bus_gbps,
        "is_below": None if got is None else got.bus_gbps < curve.points[index].low_gbps,
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation(Tabular, Explained):
    """What nccl-tests should show on a cluster, one curve a collective or a measured test."""

    scenario: Scenario
    network: Network
    curves: tuple[ExpectedCurve, ...]

    def table(self) -> Table:
        """Return a row for each size of each curve."""
        return Table.from_rows(
            {"collective": one.run.kind.value, "nodes": one.run.group.num_nodes, **_row(one, index)}
            for one in self.curves
            for index in range(len(one.points))
        )

    def explanations(self) -> dict[str, Why]:
        """Return how the time at the largest size of each curve came about, by collective.

        Where a collective was tested on several numbers of ranks, these stand behind its name.
        """
        kinds = [one.run.kind.value for one in self.curves]
        return {
            name if kinds.count(name) == 1 else f"{name}-{one.run.group.size}": one.why()
            for name, one in zip(kinds, self.curves, strict=True)
        }

    def to_json(self) -> dict[str, Any]:
        """Return the stable keys that docs/json.md documents."""
        return {
            "node": self.network.node.name,
            "technology": self.network.technology.name,
            "interval_share": SHARE,
            "curves": [one.to_json() for one in self.curves],
        }


def expect_collectives(
    scenario: Scenario,
    catalog: Catalog,
    *,
    kinds: Sequence[CollectiveKind],
    sizes: Sequence[float],
    num_nodes: int = 0,
) -> Expectation:
    """Return what nccl-tests should show for *kinds* on the scenario's cluster.

    Args:
        scenario: The cluster; a job is not looked at.
        catalog: Its parts.
        kinds: Which collectives.
        sizes: In bytes.
        num_nodes: That take part; all by default.

    Raises:
        NetloomError: a part is unknown, the network cannot be built, or it has fewer nodes.
    """
    network = network_of(scenario.cluster, catalog)
    group = _group(network, num_nodes or network.design.num_nodes, 0)
    _check_moves(group)
    curves = tuple(
        _curve(TestRun(kind=kind, group=group, network=network), sizes) for kind in kinds
    )
    return Expectation(scenario=scenario, network=network, curves=curves)


def expect_tests(
    scenario: Scenario, catalog: Catalog, tests: Sequence[MeasuredTest]
) -> Expectation:
    """Return what *tests* should have shown, and why they show less.

    Raises:
        NetloomError: as :func:`expect_collectives`.
    """
    network = network_of(scenario.cluster, catalog)
    curves = tuple(_tested(one, network, catalog) for one in tests)
    return Expectation(scenario=scenario, network=network, curves=curves)


def _tested(test: MeasuredTest, network: Network, catalog: Catalog) -> ExpectedCurve:
    total = network.design.num_nodes
    if network.node.num_hosts > 1 and test.num_ranks:  # the log counts trays, a rack is a node
        num_nodes = -(-test.num_ranks // network.node.num_gpus)
    else:
        num_nodes = test.num_nodes or total
    group = _group(network, num_nodes, test.num_ranks)
    _check_moves(group)
    run = TestRun(kind=test.kind, group=group, network=network)
    measured = tuple(_measured(run, size, time_s, dip) for size, time_s, dip in test.times)
    points = expected(run, [one.size_bytes for one in measured])
    assumed = "" if test.num_ranks else f"The log lists no ranks; {group.size} assumed."
    return ExpectedCurve(
        run=run,
        points=points,
        measured=measured,
        diagnosis=diagnose(run, points, measured, catalog=catalog, facts=test.facts),
        log=test.log,
        notes=(*test.notes, *((assumed,) if assumed else ())),
    )


def _measured(run: TestRun, size_bytes: float, time_s: float, dip: bool) -> MeasuredPoint:  # noqa: FBT001
    asked = Collective(kind=run.kind, size_bytes=size_bytes, group=run.group)
    bus = bus_factor(asked) * size_bytes / time_s / 1e9
    return MeasuredPoint(size_bytes=size_bytes, time_s=time_s, bus_gbps=bus, dip=dip)


def _curve(run: TestRun, sizes: Sequence[float]) -> ExpectedCurve:
    return ExpectedCurve(run=run, points=expected(run, sizes))


def _group(network: Network, num_nodes: int, num_ranks: int) -> Group:
    """Return the ranks of a test; every GPU of its nodes where their number is not known."""
    total, gpus = network.design.num_nodes, network.node.num_gpus
    if num_nodes > total:
        raise SpecError(
            key="cluster.nodes",
            what=f"the test takes {num_nodes} nodes, the cluster has {total}",
            remedy="write the cluster that was measured",
        )
    size = num_ranks or num_nodes * gpus
    if size > num_nodes * gpus or size < num_nodes:
        raise SpecError(
            key="cluster.node",
            what=f"{size} ranks on {num_nodes} x {network.node.name} of {gpus} GPUs",
            remedy="name the node that was measured ('netloom catalog nodes' lists them)",
        )
    return Group(size=size, per_node=-(-size // num_nodes))


def _check_moves(group: Group) -> None:
    if group.size == 1:
        raise SpecError(
            key="cluster", what="a single rank moves nothing", remedy="take two GPUs or more"
        )
