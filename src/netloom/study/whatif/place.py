"""Where to put a job on a cluster whose free nodes are scattered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from netloom.errors import SpecError
from netloom.fabric.build import build
from netloom.results.table import Table
from netloom.results.tabular import Tabular
from netloom.spec.scenario import NodePlacement
from netloom.study.inputs import catalog_of, model_of
from netloom.study.networks import network_of
from netloom.study.whatif.tenancy import chosen_nodes, seat_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from netloom.fabric.network import Network
    from netloom.parts.load import Catalog
    from netloom.spec.scenario import Scenario
    from netloom.study.whatif.tenancy import PlacedJob

    Evaluate = Callable[[NDArray[np.int64]], float]

__all__ = ["PlacementCandidate", "Search", "free_nodes", "place", "place_on"]

KINDS: Final = ("packed", "rail-aware", "scattered", "random")
# Better by less than this share of a step is rounding.
NOISE: Final = 1e-9

MAX_TRIES: Final = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacementCandidate:
    """One way to place the job.

    Attributes:
        how: ``packed``, ``rail-aware``, ``scattered``, ``random`` or ``searched``.
        nodes: Which node stands at each place of the job.
    """

    how: str
    nodes: tuple[int, ...]
    step_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Search(Tabular):
    """The best placement that was found, and what it was compared with.

    Attributes:
        candidates: The simple ones, and the searched one where it is better; the best first.
        bound_s: No placement has a shorter step: one in which no hop is slowed by another, and
            all nodes are as near as nodes can be.
        num_tried: Steps predicted.
    """

    network: Network
    num_free: int
    candidates: tuple[PlacementCandidate, ...]
    bound_s: float
    num_tried: int

    @property
    def best(self) -> PlacementCandidate:
        """The shortest step."""
        return self.candidates[0]

    @property
    def proven(self) -> bool:
        """Whether the best meets the bound, so that nothing better exists."""
        return self.best.step_s <= self.bound_s * (1 + NOISE)

    def table(self) -> Table:
        """Return a row for each placement, the best first."""
        return Table.from_rows(
            {"how": one.how, "step_time_s": one.step_s, "nodes": len(one.nodes)}
            for one in self.candidates
        )

    def to_json(self) -> dict[str, Any]:
        """Return the stable keys that docs/json.md documents."""
        return {
            "technology": self.network.technology.name,
            "free_nodes": self.num_free,
            "bound_s": self.bound_s,
            "proven": self.proven,
            "gap": self.best.step_s / self.bound_s - 1,
            "tried": self.num_tried,
            "placements": [
                {"how": one.how, "step_time_s": one.step_s, "nodes": list(one.nodes)}
                for one in self.candidates
            ],
        }


def free_nodes(
    num_nodes: int, *, listed: str = "", occupied: float = 0.0, seed: int = 0
) -> NDArray[np.int64]:
    """Return the nodes that are free, ascending.

    Args:
        num_nodes: Of the cluster.
        listed: Numbers and ranges, such as ``0-15,20,24-31``; default: all.
        occupied: Of these, the share that is occupied, drawn at random.
        seed: Which draw.

    Raises:
        SpecError: the list is not one, or names nodes that are not there.
    """
    nodes = _listed(listed, num_nodes) if listed else np.arange(num_nodes)
    if not 0 <= occupied < 1:
        raise SpecError(
            option="--occupied",
            what=f"{occupied} must lie between 0 and 1",
            remedy="give 0 up to less than 1",
        )
    count = len(nodes) - round(occupied * len(nodes))
    return np.sort(np.random.default_rng(seed).choice(nodes, size=count, replace=False))


def _listed(text: str, num_nodes: int) -> NDArray[np.int64]:
    found: set[int] = set()
    for piece in text.split(","):
        first, dash, last = piece.strip().partition("-")
        ends = (first, last if dash else first)
        if not all(end.isascii() and end.isdigit() and len(end) < 10 for end in ends):
            raise SpecError(
                option="--free",
                what=f"{piece.strip()!r} is no node or range",
                remedy="write such as 0-15,20",
            )
        begin, end = (int(end) for end in ends)
        if not begin <= end < num_nodes:
            raise SpecError(
                option="--free",
                what=f"{piece.strip()!r}, but nodes are 0 to {num_nodes - 1}, in order",
            )
        found |= set(range(begin, end + 1))
    return np.array(sorted(found), dtype=np.int64)


def place(  # noqa: PLR0913  (a facade: what the command line takes)
    scenario: Scenario,
    catalog: Catalog | None = None,
    *,
    num_nodes: int,
    free: str | Sequence[int] = "",
    occupied: float = 0.0,
    tries: int = 200,
    seed: int = 0,
) -> Search:
    """Return the free nodes on which a job's step is shortest.

    >>> import netloom as nl
    >>> nl.place(nl.load("x.yaml"), num_nodes=16, occupied=0.4).best.nodes  # doctest: +SKIP

    Args:
        scenario: The cluster and the job.
        catalog: The parts to build it from; default: the shipped ones and the scenario's own.
        num_nodes: Of the job.
        free: Nodes that are free: their numbers, or such as ``0-15,20``; default: all.
        occupied: Of these, the share that other jobs hold, drawn at random.
        tries: Most changes of the placement to try.
        seed: Which draw, of occupied nodes, of the hash and of the changes.

    Raises:
        NetloomError: there are too few free nodes, or the job cannot run on that many.
    """
    if num_nodes < 1 or not 0 <= tries <= MAX_TRIES:
        raise SpecError(
            what=f"--nodes is 1 or more, and --tries 0 to {MAX_TRIES:,}",
            remedy=f"not {num_nodes} and {tries}",
        )
    if seed < 0:
        raise SpecError(option="--seed", what=f"{seed} is negative", remedy="use 0 or more")
    parts = catalog or catalog_of(scenario)
    listed = free if isinstance(free, str) else ",".join(map(str, free))
    all_nodes = network_of(scenario.cluster, parts).design.num_nodes
    spare = free_nodes(all_nodes, listed=listed, occupied=occupied, seed=seed)
    return place_on(scenario, spare, parts, num_nodes=num_nodes, tries=tries, seed=seed)


def place_on(
    scenario: Scenario,
    free: NDArray[np.int64],
    catalog: Catalog | None = None,
    *,
    num_nodes: int,
    tries: int = 200,
    seed: int = 0,
) -> Search:
    """Return the placement of *scenario*'s job with the shortest step that was found.

    Starts from the best of the simple placements, and changes it while that helps: a node for a
    free one, or two places with one another. Ends at the bound, where nothing better exists.

    Args:
        scenario: The cluster and the job.
        free: Free nodes, ascending.
        catalog: The parts to build it from; default: the shipped ones and the scenario's own.
        num_nodes: Of the job.
        tries: Most changes to try.
        seed: Which draw of the hash, of the random placement and of the changes.

    Raises:
        NetloomError: there are too few free nodes, or the job cannot run on that number.
    """
    parts = catalog or catalog_of(scenario)
    network = network_of(scenario.cluster, parts)
    fabric = build(network.design, network.node, network.scale_up)
    model = model_of(scenario, parts)

    def seat(nodes: NDArray[np.int64]) -> PlacedJob:
        return seat_of(
            scenario.job, model=model, network=network, fabric=fabric, nodes=nodes, seed=seed
        )

    def evaluate(nodes: NDArray[np.int64]) -> float:
        return float(seat(nodes).alone().step.duration_s)

    leaf_nodes = max(1, network.design.reaches[0].num_nodes)
    ways = [NodePlacement.model_validate({"kind": kind, "seed": seed}) for kind in KINDS]
    starts = [(how.kind, chosen_nodes(free, num_nodes, how, leaf_nodes=leaf_nodes)) for how in ways]
    simple = [_candidate(kind, nodes, evaluate(nodes)) for kind, nodes in starts]
    in_a_row = seat(np.arange(num_nodes))
    bound_s = float(in_a_row.unslowed().duration_s)
    start = min(simple, key=lambda one: one.step_s)
    found, num_tried = _searched(
        start, free, evaluate, bound_s=bound_s, tries=tries, rng=np.random.default_rng(seed)
    )
    better = [found] if found.step_s < start.step_s else []
    ordered = sorted([*better, *simple], key=lambda one: one.step_s)
    return Search(
        network=network,
        num_free=len(free),
        candidates=tuple(ordered),
        bound_s=bound_s,
        num_tried=num_tried + len(simple),
    )


def _candidate(
    how: str, nodes: Sequence[int] | NDArray[np.int64], step_s: float
) -> PlacementCandidate:
    return PlacementCandidate(how=how, nodes=tuple(int(node) for node in nodes), step_s=step_s)


def _searched(
    start: PlacementCandidate,
    free: NDArray[np.int64],
    evaluate: Evaluate,
    *,
    bound_s: float,
    tries: int,
    rng: np.random.Generator,
) -> tuple[PlacementCandidate, int]:
    """Return the best that changes lead to, and how many were tried."""
    nodes, best_s = np.array(start.nodes), start.step_s
    spare = np.setdiff1d(free, nodes)
    for tried in range(tries):
        if best_s <= bound_s * (1 + NOISE) or (len(nodes) == 1 and not len(spare)):
            return _candidate("searched", nodes, best_s), tried
        changed, others = _changed(nodes, spare, rng)
        step_s = evaluate(changed)
        if step_s < best_s:
            nodes, spare, best_s = changed, others, step_s
    return _candidate("searched", nodes, best_s), tries


def _changed(
    nodes: NDArray[np.int64], spare: NDArray[np.int64], rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Exchange a node for a spare one, or two places."""
    nodes, spare = nodes.copy(), spare.copy()
    place = int(rng.integers(len(nodes)))
    if len(spare) and (len(nodes) == 1 or rng.random() < 0.5):
        other = int(rng.integers(len(spare)))
        nodes[place], spare[other] = spare[other], nodes[place]
    else:
        other = (place + 1 + int(rng.integers(len(nodes) - 1))) % len(nodes)
        nodes[[place, other]] = nodes[[other, place]]
    return nodes, spare
