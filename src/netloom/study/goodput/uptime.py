"""How much of the time a cluster trains, what stops it, and what each improvement buys."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from netloom.fabric import build as builder
from netloom.fabric.fault_domains import FaultDomain, fault_domains
from netloom.results.explained import Explained
from netloom.results.table import Table
from netloom.results.tabular import Tabular
from netloom.study.goodput.model import Goodput, goodput_at
from netloom.study.goodput.model import goodput as goodput_of
from netloom.study.inputs import catalog_of
from netloom.study.networks import network_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from netloom.fabric.network import Network
    from netloom.parts.load import Catalog
    from netloom.provenance import Why
    from netloom.spec.scenario import Scenario

__all__ = ["Improvement", "Uptime", "goodput", "uptime"]

FASTER: Final = 10  # how much faster a write or a restart is made
NETWORK_PARTS: Final = frozenset({"NIC link", "leaf"})  # what a second plane outlives


@dataclass(frozen=True, slots=True, kw_only=True)
class Improvement:
    """A change, and the goodput with it."""

    what: str
    share: float
    gain: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Uptime(Tabular, Explained):
    """A scenario's goodput.

    Attributes:
        domains: What the loss of one part takes away.
        improvements: From the largest gain down.
    """

    scenario: Scenario
    network: Network
    goodput: Goodput
    domains: tuple[FaultDomain, ...]
    improvements: tuple[Improvement, ...]

    def explanations(self) -> dict[str, Why]:
        """Return how the goodput came about."""
        return {"goodput": self.goodput.why()}

    def table(self) -> Table:
        """Return how often each kind of part interrupts the job."""
        return Table.from_rows(
            {
                "part": rate.part,
                "count": rate.count,
                "interruptions_per_day": rate.per_s * 86_400,
                "one_part_between_s": 1 / rate.per_part_per_s,
            }
            for rate in self.goodput.rates
        )

    def to_json(self) -> dict[str, Any]:
        """Return the stable keys that docs/json.md documents."""
        kept = self.goodput
        return {
            "technology": self.network.technology.name,
            "gpus": self.network.design.num_gpus,
            "record": kept.reliability.record,
            "goodput": kept.share,
            "mean_time_between_s": kept.mean_time_between_s,
            "checkpoint_interval_s": kept.interval_s,
            "lost": kept.losses(),
            "interruptions": self.table().rows(),
            "nodes_away": kept.nodes_away,
            "spares": kept.reliability.spares,
            "spares_needed": kept.spares_needed,
            "fault_domains": [asdict(domain) for domain in self.domains],
            "improvements": [asdict(one) for one in self.improvements],
            "doubts": list(kept.validity.doubts),
        }


def goodput(scenario: Scenario, catalog: Catalog | None = None) -> Uptime:
    """Return how much of the time *scenario*'s job, filling its cluster, makes progress.

    >>> import netloom as nl
    >>> nl.goodput(nl.example()).goodput.share  # doctest: +SKIP

    Args:
        scenario: The cluster, and the job with its reliability.
        catalog: The parts; default: the shipped ones and the scenario's own.

    Raises:
        NetloomError: a part is unknown, or the network cannot be built.
    """
    network = network_of(scenario.cluster, catalog or catalog_of(scenario))
    kept = goodput_of(network.design, scenario.job.reliability, num_hosts=network.node.num_hosts)
    fabric = builder.build(network.design, network.node, network.scale_up)
    better = sorted(_improvements(kept), key=lambda one: -one.gain)
    return Uptime(
        scenario=scenario,
        network=network,
        goodput=kept,
        domains=fault_domains(fabric),
        improvements=tuple(better),
    )


uptime = goodput  # deprecated: the name of 0.1


def _improvements(now: Goodput) -> Iterator[Improvement]:
    for what, then in _changes(now):
        yield Improvement(what=what, share=then.share, gain=then.share - now.share)


def _changes(now: Goodput) -> Iterator[tuple[str, Goodput]]:
    given, rates = now.reliability, now.rates
    write_s, restart_s = given.checkpoint_write_s / FASTER, given.restart_s / FASTER
    faster = given.model_copy(update={"checkpoint_write_s": write_s})
    yield f"checkpoint writes {FASTER} times faster", goodput_at(rates, faster)
    sooner = given.model_copy(update={"restart_s": restart_s})
    yield f"restarts {FASTER} times faster", goodput_at(rates, sooner)
    for broken in rates:
        if broken.count:
            halved = tuple(
                replace(rate, observed=rate.observed / 2) if rate is broken else rate
                for rate in rates
            )
            yield f"half as many failures by {broken.part}", goodput_at(halved, given)
    machines = tuple(rate for rate in rates if rate.part not in NETWORK_PARTS)
    if any(rate.count for rate in rates if rate.part in NETWORK_PARTS):
        yield "every NIC on two planes", goodput_at(machines, given)
    if given.spares is not None:
        more = given.model_copy(update={"spares": given.spares + 1})
        yield "one more spare node", goodput_at(rates, more)
