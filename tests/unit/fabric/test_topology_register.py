"""Every kind of topology is one entry that says all that is asked of it."""

from __future__ import annotations

from dataclasses import fields
from importlib import import_module
from typing import TYPE_CHECKING, get_args

import pytest
from pydantic import ValidationError

from netloom.app.lab.infiniband import default_engine
from netloom.errors import SpecError
from netloom.fabric.size import design
from netloom.fabric.topologies.entry import TopologyEntry, topology_entry
from netloom.fabric.topologies.request import Request
from netloom.fabric.topologies.torus import ENTRY as TORUS
from netloom.fabric.topologies.torus import Torus
from netloom.parts.load import load_catalog
from netloom.spec.scenario import FabricSpec
from netloom.spec.schema import schema
from netloom.spec.topology import TOPOLOGIES, TopologySpec
from netloom.study.size.request import topology_of

if TYPE_CHECKING:
    from netloom.fabric.design import Design

CATALOG = load_catalog()
KINDS = (
    "dragonfly-plus",
    "fat-tree",
    "multi-plane",
    "rail-fat-tree",
    "rail-only",
    "three-tier-tree",
    "torus",
)


def sized(kind: str, *, num_nodes: int = 40, node: str = "dgx-h100") -> Design:
    topology = topology_of(kind)
    assert topology is not None
    technology = CATALOG.technology("infiniband-ndr")
    return design(
        topology=topology,
        num_nodes=num_nodes,
        node=CATALOG.node(node),
        switch=CATALOG.switch(technology.switch),
        nic_rate_bps=technology.rate_bps,
    )


def test_the_shipped_kinds_are_the_modules_of_the_folder() -> None:
    assert TOPOLOGIES.names() == KINDS
    for kind in KINDS:
        module = import_module(f"netloom.fabric.topologies.{kind.replace('-', '_')}")
        assert module.ENTRY is TOPOLOGIES.get(kind)


@pytest.mark.parametrize("trait", [field.name for field in fields(TopologyEntry)])
def test_an_entry_that_lacks_a_trait_fails_where_it_is_defined(trait: str) -> None:
    given = {field.name: getattr(TORUS, field.name) for field in fields(TORUS)}
    with pytest.raises(TypeError, match=trait):
        TopologyEntry(**{name: value for name, value in given.items() if name != trait})


def test_an_entry_whose_kind_is_another_fails_where_it_is_defined() -> None:
    given = {field.name: getattr(TORUS, field.name) for field in fields(TORUS)}
    with pytest.raises(TypeError, match="Torus: 'kind' must be the literal 'ring'"):
        TopologyEntry(**{**given, "name": "ring"})


@pytest.mark.parametrize("kind", KINDS)
def test_the_builder_lays_what_the_sizing_rule_counts(kind: str) -> None:
    # Also computer by computer: a GB200 rack is 18 hosts of 4 NICs.
    for planned in (sized(kind), sized(kind, num_nodes=9, node="gb200-nvl72")):
        request = Request.of_design(planned)
        wiring = topology_entry(planned.topology).wire(request, planned.topology)
        assert len(wiring.lower) == sum(stage.num_cables for stage in planned.stages[1:])
        assert len(wiring.port_switch) == planned.num_ports
        assert len(wiring.switch_tier) == planned.num_switches


@pytest.mark.parametrize("kind", KINDS)
def test_a_tiered_kind_has_no_cable_inside_a_tier(kind: str) -> None:
    planned = sized(kind, num_nodes=200)
    sideways = [stage for stage in planned.stages if stage.lower == stage.upper]
    assert TOPOLOGIES.get(kind) is topology_entry(planned.topology)
    assert topology_entry(planned.topology).is_tiered == (not sideways)
    assert default_engine(planned.topology) == ("nue" if sideways else "updn")


def test_only_rail_only_has_rails_apart() -> None:
    apart = {kind for kind in KINDS if topology_entry(sized(kind).topology).has_rails_apart}
    assert apart == {"rail-only"}


def test_the_schema_offers_the_registered_kinds() -> None:
    part = schema()["$defs"]["FabricSpec"]["properties"]["topology"]
    assert set(part["discriminator"]["mapping"]) == set(KINDS)


def test_the_command_line_offers_the_registered_kinds() -> None:
    command = import_module("netloom.cli.design.size")
    assert get_args(command.Kind) == KINDS


def test_a_scenario_without_a_topology_gets_a_rail_fat_tree() -> None:
    assert FabricSpec().topology.kind == "rail-fat-tree"
    assert isinstance(FabricSpec(topology=Torus()).topology, Torus)


def test_a_topology_reads_back_what_it_writes() -> None:
    asked = Torus(dimensions=(3, 4))
    fabric = FabricSpec.model_validate({"topology": asked.model_dump()})
    assert fabric.topology == asked
    assert fabric.model_dump()["topology"] == {"kind": "torus", "dimensions": (3, 4)}


def test_a_file_writes_a_rate_without_its_unit_in_the_key() -> None:
    def fabric(key: str) -> FabricSpec:
        return FabricSpec.from_file({"topology": {"kind": "fat-tree", key: "800Gbps"}})

    assert fabric("uplink_rate").model_dump()["topology"]["uplink_rate_bps"] == 800e9
    with pytest.raises(ValidationError, match="uplink_rate_bps"):
        fabric("uplink_rate_bps")


def test_a_kind_that_was_never_registered_is_refused() -> None:
    class Mesh(TopologySpec):
        kind: str = "mesh"

    with pytest.raises(SpecError, match="topology: 'mesh' is not known"):
        topology_entry(Mesh())
