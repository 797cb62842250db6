"""Size a cluster's network: the design, what to buy, what it draws, and what else there is."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from netloom.errors import CatalogError, InfeasibleError
from netloom.fabric import size as sizing
from netloom.fabric.cost.estimate import Estimate, estimate
from netloom.fabric.cost.layout import nodes_per_rack
from netloom.fabric.topologies.rail_fat_tree import RailFatTree
from netloom.fabric.topologies.rail_only import RailOnly
from netloom.parts.load import load_catalog
from netloom.provenance import Why
from netloom.results.explained import Explained
from netloom.results.table import Table
from netloom.results.tabular import Tabular
from netloom.study.inputs import catalog_of
from netloom.study.networks import used_part
from netloom.study.size.request import SizingRequest, technology_of
from netloom.units import format_count

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from netloom.fabric.cost.bill import Bill, BillLine
    from netloom.fabric.design import Design
    from netloom.parts.load import Catalog
    from netloom.parts.parts import Nic, Node, Switch, Technology
    from netloom.spec.scenario import Scenario
    from netloom.spec.topology import Topology

__all__ = ["Alternative", "Sizing", "SizingRequest", "size"]

# Other switches shown beside the one chosen, those of the nearest number of ports first.
MAX_OTHER_SWITCHES: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Alternative:
    """Another network for the same nodes, in short.

    Attributes:
        topology: Its kind.
        switch: Catalogue name.
        design: None where there can be no such network.
        capex_usd: Of the network; None where that, or a price, is missing.
        power_w: Likewise.
        doubt: Why something is missing.
    """

    topology: str
    switch: str
    design: Design | None = None
    num_transceivers: int | None = None
    capex_usd: float | None = None
    power_w: float | None = None
    doubt: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return it as plain data."""
        design = self.design
        return {
            "topology": self.topology,
            "switch": self.switch,
            "tiers": None if design is None else len(design.tiers),
            "switches": None if design is None else design.num_switches,
            "cables": None if design is None else design.num_cables,
            "transceivers": self.num_transceivers,
            "capex_usd": self.capex_usd,
            "power_w": self.power_w,
            "doubt": self.doubt,
        }


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Sizing(Tabular, Explained):
    """A sized network and what it takes.

    Attributes:
        technology: The bundle of link layer, routing and transport it runs.
        node: The machines it joins.
        design: How many of what.
        estimate: Racks, cables, bill.
        notes: What a reader should know.
        alternatives: What else could be built.
    """

    technology: Technology
    node: Node
    design: Design
    estimate: Estimate
    notes: tuple[str, ...]
    alternatives: tuple[Alternative, ...]

    def __repr__(self) -> str:
        """Return one line."""
        design = self.design
        what = f"{design.num_switches:,} x {design.switch.name}, {design.num_cables:,} cables"
        return f"<Sizing of {format_count(design.num_gpus, 'GPU')}, {design.topology.kind}: {what}>"

    def table(self) -> Table:
        """Return the bill of materials, one row a line."""
        return Table.from_rows(line.to_json() for line in self.bill.lines)

    @property
    def bill(self) -> Bill:
        """What to buy."""
        return self.estimate.bill

    @property
    def capex_usd_per_gpu(self) -> float:
        """The network's cost divided by the GPUs."""
        return self.bill.capex_usd / self.design.num_gpus

    def explanations(self) -> dict[str, Why]:
        """Return how the counts, the cost and the power came about."""
        return {field: explain(self) for field, explain in _EXPLAINED.items()}

    def to_json(self) -> dict[str, Any]:
        """Return it as plain data, under the keys that docs/json.md documents."""
        design, bill = self.design, self.bill
        low_usd, high_usd = bill.capex_range_usd
        return {
            "gpus": design.num_gpus,
            "nodes": design.num_nodes,
            "node": self.node.name,
            "technology": self.technology.name,
            "switch": design.switch.name,
            "topology": design.topology.model_dump(by_alias=True),
            "tiers": len(design.tiers),
            "planes": design.num_planes,
            "rails": design.num_rails,
            "oversubscription": max(reach.taper for reach in design.reaches),
            "switches": design.num_switches,
            "switches_by_tier": {tier.name: tier.num_switches for tier in design.tiers},
            "cables": design.num_cables,
            "cables_by_stage": {
                f"{stage.lower}-{stage.upper}": stage.num_cables for stage in design.stages
            },
            "cable_lengths": self.estimate.cabling.lengths_to_json(),
            "longest_cable_m": self.estimate.longest_m,
            "transceivers": bill.num_transceivers,
            "transceivers_by_level": self.estimate.cabling.num_modules_by_level,
            "racks": self.estimate.layout.hall.num_racks,
            "capex_usd": bill.capex_usd,
            "capex_low_usd": low_usd,
            "capex_high_usd": high_usd,
            "capex_usd_per_gpu": self.capex_usd_per_gpu,
            "power_w": bill.power_w,
            "power_by_part_w": {
                "switches": bill.power.switches_w,
                "optics": bill.power.optics_w,
                "nics": bill.power.nics_w,
            },
            "bill": [line.to_json() for line in bill.lines],
            "notes": list(self.notes),
            "alternatives": [other.to_json() for other in self.alternatives],
        }


def size(wish: SizingRequest | Scenario, catalog: Catalog | None = None) -> Sizing:
    """Return the network that *wish* asks for, sized and priced.

    >>> import netloom as nl
    >>> nl.size(nl.SizingRequest(num_gpus=1024)).design.num_switches
    48

    Args:
        wish: What is asked, or a scenario whose cluster says it.
        catalog: The parts to build it from; default: the shipped ones and the scenario's own.

    Raises:
        SpecError: the parts asked for do not go together.
        InfeasibleError: there can be no such network.
        CatalogError: there is no such part, or it has no price.
    """
    if isinstance(wish, SizingRequest):
        return _sized(wish, catalog or load_catalog())
    return _sized(SizingRequest.of(wish.cluster), catalog or catalog_of(wish))


def _sized(wish: SizingRequest, catalog: Catalog) -> Sizing:
    shop = _Shop.of(wish, catalog)
    design = shop.design()
    found = shop.estimate(design)
    return Sizing(
        technology=shop.technology,
        node=shop.node,
        design=design,
        estimate=found,
        notes=tuple(_notes(shop, design, found.bill)),
        alternatives=tuple(_alternatives(shop, design)),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shop:
    """The question and the parts it is answered with."""

    wish: SizingRequest
    catalog: Catalog
    node: Node
    technology: Technology
    nic: Nic

    @classmethod
    def of(cls, wish: SizingRequest, catalog: Catalog) -> _Shop:
        node = catalog.node(wish.node)
        node = used_part(node, wish.gpus_per_node or node.num_gpus)
        technology = technology_of(wish, node, catalog)
        return cls(
            wish=wish,
            catalog=catalog,
            node=node,
            technology=technology,
            nic=catalog.nic(technology.nic),
        )

    @property
    def nic_rate_bps(self) -> float:
        return min(self.technology.rate_bps, self.nic.rate_bps)

    def switches(self) -> list[Switch]:
        """Return the switch asked for alone, or the technology's own before all others."""
        if self.wish.switch is not None:
            return [self.catalog.switch(self.wish.switch)]
        own = self.catalog.switch(self.technology.switch)
        if self.wish.topology is not None:
            return [own]
        others = (s for s in self.catalog.switches.values() if s.protocol == own.protocol)
        return [own, *(switch for switch in others if switch.name != own.name)]

    def design(self) -> Design:
        return sizing.choose(
            num_gpus=self.wish.count_nodes(self.node) * self.node.num_gpus,
            node=self.node,
            switches=self.switches(),
            nic_rate_bps=self.nic_rate_bps,
            topology=self.wish.topology,
        )

    def design_with(self, topology: Topology, switch: Switch) -> Design:
        return sizing.design(
            topology=topology,
            num_nodes=self.wish.count_nodes(self.node),
            node=self.node,
            switch=switch,
            nic_rate_bps=self.nic_rate_bps,
        )

    def estimate(self, design: Design) -> Estimate:
        return estimate(
            design,
            node=self.node,
            nic=self.nic,
            floor=self.wish.floor,
            cables=self.catalog.cables.values(),
            transceivers=self.catalog.transceivers.values(),
        )


def _alternatives(shop: _Shop, chosen: Design) -> Iterator[Alternative]:
    """Yield rail-optimised and rail-only networks, of the chosen and of other switches."""
    kinds = _kinds(chosen.topology)
    for switch in (chosen.switch, *_other_switches(shop, chosen)):
        for topology in kinds:
            if topology.kind != chosen.topology.kind or switch.name != chosen.switch.name:
                yield _alternative(shop, topology, switch)


def _kinds(chosen: Topology) -> list[Topology]:
    asked = getattr(chosen, "oversubscription", 1)
    others = (RailFatTree(oversubscription=asked), RailOnly(oversubscription=asked))
    return [chosen, *(other for other in others if other.kind != chosen.kind)]


def _other_switches(shop: _Shop, chosen: Design) -> list[Switch]:
    """Return switches with other numbers of ports at the same rate, the cheapest of each."""
    by_radix: dict[int, Switch] = {}
    for switch in shop.catalog.switches.values():
        radix = switch.radix(chosen.port_rate_bps)
        if switch.protocol != chosen.switch.protocol or radix in (0, chosen.radix):
            continue
        known = by_radix.get(radix)
        if known is None or _price_order(switch) < _price_order(known):
            by_radix[radix] = switch
    nearest = sorted(by_radix, key=lambda radix: (abs(radix - chosen.radix), radix))
    return [by_radix[radix] for radix in sorted(nearest[:MAX_OTHER_SWITCHES])]


def _price_order(switch: Switch) -> float:
    return float("inf") if switch.price_usd is None else switch.price_usd


def _alternative(shop: _Shop, topology: Topology, switch: Switch) -> Alternative:
    other = Alternative(topology=topology.kind, switch=switch.name)
    try:
        other = replace(other, design=shop.design_with(topology, switch))
        assert other.design is not None
        bill = shop.estimate(other.design).bill
    except (InfeasibleError, CatalogError) as error:
        return replace(other, doubt=str(error))
    return replace(
        other,
        num_transceivers=bill.num_transceivers,
        capex_usd=bill.capex_usd,
        power_w=bill.power_w,
    )


def _notes(shop: _Shop, design: Design, bill: Bill) -> Iterator[str]:
    yield from design.notes
    wanted = shop.wish.num_gpus
    if wanted is not None and wanted != design.num_gpus:
        per_node = shop.node.num_gpus
        yield f"{wanted} GPUs do not fill nodes of {per_node}: sized for {design.num_gpus}"
    whole = shop.catalog.node(shop.wish.node)
    if shop.node.num_gpus < whole.num_gpus:
        yield (
            f"{shop.node.num_gpus} of the {whole.num_gpus} GPUs of a node are used: "
            f"{shop.node.num_nics} of its {whole.num_nics} NICs are cabled"
        )
    floor = shop.wish.floor
    if nodes_per_rack(floor, shop.node) < floor.nodes_per_rack:
        yield f"{shop.node.name} draws too much for {floor.nodes_per_rack} a rack: fewer are placed"
    if shop.nic.name != shop.node.nic:
        yield f"{shop.technology.name} runs on {shop.nic.name}, not the node's own {shop.node.nic}"
    weak = sorted({line.part for line in bill.network if _weak(line)})
    if weak:
        yield f"prices not read in any source, but recalled, derived or assumed: {', '.join(weak)}"
    yield "NICs are listed but not counted: the price and power of a node include them"


def _weak(line: BillLine) -> bool:
    source = line.price_source
    return source is None or source.confidence in ("recalled", "derived", "assumed")


def _why_switches(sizing: Sizing) -> Why:
    tiers = sizing.design.tiers
    return Why(
        name="switches",
        value=sizing.design.num_switches,
        how=" + ".join(tier.name for tier in tiers),
        parts=tuple(
            Why(
                name=f"{tier.name} switches",
                value=tier.num_switches,
                how=f"up to {tier.num_down} ports down and {tier.num_up} up, "
                f"of {sizing.design.radix}",
            )
            for tier in tiers
        ),
    )


def _why_cables(sizing: Sizing) -> Why:
    routes = sizing.estimate.layout.routes
    return Why(
        name="cables",
        value=sizing.design.num_cables,
        how="sum over the stages",
        parts=tuple(
            Why(
                name=f"{route.stage.lower}-{route.stage.upper} cables",
                value=route.stage.num_cables,
                how=f"{route.mean_m:.1f} m on average, {route.longest_m:.0f} m at most",
            )
            for route in routes
        ),
    )


def _why_transceivers(sizing: Sizing) -> Why:
    return Why(
        name="transceivers",
        value=sizing.bill.num_transceivers,
        how="rounded up on every node and switch",
        parts=tuple(
            Why(name=f"{line.item} {line.part}", value=line.count)
            for line in sizing.bill.of("transceiver")
        ),
    )


def _why_per_gpu(sizing: Sizing) -> Why:
    return Why(
        name="network capex per GPU",
        value=sizing.capex_usd_per_gpu,
        unit="USD",
        how="network capex / GPUs",
        parts=(sizing.bill.why("capex_usd"), Why(name="GPUs", value=sizing.design.num_gpus)),
    )


_EXPLAINED: Final[dict[str, Callable[[Sizing], Why]]] = {
    "switches": _why_switches,
    "cables": _why_cables,
    "transceivers": _why_transceivers,
    "capex_usd": lambda sizing: sizing.bill.why("capex_usd"),
    "capex_usd_per_gpu": _why_per_gpu,
    "power_w": lambda sizing: sizing.bill.why("power_w"),
}
