"""A chip on a scenario: its parts, its wiring and its settings, each replaceable."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from netloom.errors import CatalogError
from netloom.study.simulate.choices import Choices

if TYPE_CHECKING:
    from collections.abc import Mapping

    from netloom.parts.load import Catalog
    from netloom.parts.parts import Switch, Technology
    from netloom.spec.scenario import Scenario
    from netloom.spec.topology import TopologySpec

__all__ = ["ChipDesign", "base_design"]

Section = Literal["switch", "schedule", "credits", "transport", "pfc"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChipDesign:
    """What a chip is built of and how it behaves.

    Attributes:
        technology: Of the catalogue, as changed.
        switch: Of the catalogue, as changed.
        topology: In place of the scenario's; None keeps it.
        retries_links: Whether links repeat what is corrupted on them.
        in_network_reduction: Whether switches add up.
        choices: Of the packet engine, in place of the technology's own.
        packets: Further settings of the packet engine by section and name.
        buffer_bytes: Of a whole switch in packets, in place of the catalogue's; None keeps it.
        speed_up: Rate of the links between switches over that of the hosts, packets only.
        num_planes: Networks that each NIC is split over.
    """

    technology: Technology
    switch: Switch
    topology: TopologySpec | None = None
    retries_links: bool = False
    in_network_reduction: bool = False
    choices: Choices = field(default_factory=Choices)
    packets: Mapping[Section, Mapping[str, Any]] = field(default_factory=dict)
    buffer_bytes: float | None = None
    speed_up: float = 1.0
    num_planes: int = 1

    def with_technology(self, **changed: Any) -> ChipDesign:
        """Return it with other values of the technology; a key of ``latency`` begins so."""
        budget = {
            key.removeprefix("latency_"): changed.pop(key)
            for key in tuple(changed)
            if key.startswith("latency_")
        }
        if budget:
            changed["latency"] = self.technology.latency.model_copy(update=budget)
        return replace(self, technology=self.technology.model_copy(update=changed))

    def with_choices(self, **chosen: Any) -> ChipDesign:
        """Return it with other schemes of the packet engine."""
        return replace(self, choices=replace(self.choices, **chosen))

    def with_packets(self, section: Section, **settings: Any) -> ChipDesign:
        """Return it with further settings of the packet engine."""
        own = {**self.packets.get(section, {}), **settings}
        return replace(self, packets={**self.packets, section: own})

    def with_switch(self, switch: Switch) -> ChipDesign:
        """Return it built of another switch."""
        changed = self.with_technology(switch=switch.name)
        return replace(changed, switch=switch)


def base_design(family: str, scenario: Scenario, catalog: Catalog) -> ChipDesign:
    """Return the design of *family* at the rate of the scenario's NICs.

    Raises:
        CatalogError: the family has no technology at that rate.
    """
    rate_bps = catalog.technology(scenario.cluster.fabric.technology).rate_bps
    name = f"{family}-{rate_bps / 1e9:.0f}g"
    if name not in catalog.technologies:
        known = [one for one in catalog.technologies if one.startswith(f"{family}-")]
        raise CatalogError(
            what=f"there is no {name}, which the chip is built on",
            remedy=f"use a scenario at the rate of {' or '.join(known)}",
        )
    technology = catalog.technology(name)
    return ChipDesign(technology=technology, switch=catalog.switch(technology.switch))
