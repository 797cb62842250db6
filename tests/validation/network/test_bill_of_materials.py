"""Bills of materials against published ones.

NVIDIA RA-11333-001 V11 (DGX SuperPOD H100), tables 3, 7 and 8; a public price sheet of August
2024 (docs.google.com/spreadsheets/d/1Ft3RbeZ-w43kYSiLfYc1vxO41mK5lmJpcPC9GOYHAWc); Wang et al.,
"Rail-only" (arXiv 2307.12169), as cited by others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from netloom.fabric.cost.estimate import Estimate, estimate
from netloom.fabric.size import design
from netloom.fabric.topologies.fat_tree import FatTree
from netloom.fabric.topologies.rail_fat_tree import RailFatTree
from netloom.fabric.topologies.rail_only import RailOnly
from netloom.parts.load import load_catalog
from netloom.parts.parts import Node, PortMode, Switch
from netloom.spec.scenario import Floor

if TYPE_CHECKING:
    from netloom.spec.topology import Topology

pytestmark = pytest.mark.validation

CATALOG = load_catalog()
DGX = CATALOG.node("dgx-h100")
QM9700 = CATALOG.switch("QM9700")


def priced(
    num_nodes: int, topology: Topology, *, node: Node = DGX, switch: Switch = QM9700
) -> Estimate:
    planned = design(
        topology=topology, num_nodes=num_nodes, node=node, switch=switch, nic_rate_bps=400e9
    )
    return estimate(
        planned,
        node=node,
        nic=CATALOG.nic("ConnectX-7"),
        floor=Floor(),
        cables=CATALOG.cables.values(),
        transceivers=CATALOG.transceivers.values(),
    )


def counts(found: Estimate) -> dict[str, int]:
    modules = found.cabling.num_modules_by_level
    return {
        "switches": sum(line.count for line in found.bill.of("switch")),
        "cables": sum(line.count for line in found.bill.of("cable")),
        "switch OSFP": sum(number for level, number in modules.items() if level != "node"),
        "node OSFP": modules["node"],
    }


def test_the_127_node_superpod_is_nvidias_bill() -> None:
    # RA-11333-001 V11, tables 7 and 8, compute fabric without UFM.
    assert counts(priced(127, RailFatTree())) == {
        "switches": 48,
        "cables": 2_040,
        "switch OSFP": 1_536,
        "node OSFP": 508,
    }


def test_32768_gpus_follow_the_same_rule() -> None:
    # 1,024 + 1,024 + 512 switches of 32 cages, 4 cages a node, 32,768 cables a stage.
    assert counts(priced(4_096, RailFatTree())) == {
        "switches": 2_560,
        "cables": 98_304,
        "switch OSFP": 81_920,
        "node OSFP": 16_384,
    }


@pytest.mark.parametrize(
    ("num_gpus", "switches_usd", "cables_usd"),
    # The sheet's totals; its rows of 4,096 to 16,384 GPUs lack the core tier and are not used.
    [(1_024, 1_728_000, 2_621_440), (32_768, 92_160_000, 124_518_400)],
)
def test_the_cost_is_that_of_the_price_sheet(
    num_gpus: int, switches_usd: float, cables_usd: float
) -> None:
    bill = priced(num_gpus // 8, RailFatTree()).bill
    assert sum(line.total_usd or 0 for line in bill.of("switch")) == switches_usd
    # The module price was set on the sheet's row of 1,024 GPUs with 30 m cables; the row of
    # 32,768 GPUs is a check of the counts and of the lengths, not of the price.
    rest_usd = sum(line.total_usd or 0 for line in bill.of("transceiver", "cable"))
    assert rest_usd == pytest.approx(cables_usd, rel=0.05)


def test_transceivers_of_1024_gpus_cost_more_than_a_vendor_says() -> None:
    # ascentoptics.com: over 1.5 million USD at NVIDIA's list price, 55 % less from others.
    bill = priced(128, RailFatTree()).bill
    modules_usd = sum(line.total_usd or 0 for line in bill.of("transceiver"))
    assert 1.5e6 * 0.45 < modules_usd < 2 * 1.5e6


def wide_switch() -> Switch:
    mode = PortMode.model_validate({"count": 128, "rate": "400Gbps"})
    return QM9700.model_copy(update={"name": "128x400G", "modes": (mode,)})


@pytest.mark.parametrize(
    ("domain", "least", "most"),
    [
        (8, 0.30, 0.50),  # rails of 4,096 ports on two tiers, where a fat tree needs three
        (256, 0.60, 0.85),  # rails of 128 ports: one switch each
    ],
)
def test_rail_only_saves_about_what_its_authors_claim(
    domain: int, least: float, most: float
) -> None:
    # They claim 38 to 77 % of the network's cost, more for larger scale-up domains; here 32,768
    # GPUs on 128-port switches against the full fat tree, which does not depend on the domain.
    whole = priced(4_096, FatTree(), switch=wide_switch()).bill.capex_usd
    node = DGX.model_copy(update={"num_gpus": domain, "num_nics": domain})
    rails = priced(32_768 // domain, RailOnly(), node=node, switch=wide_switch()).bill.capex_usd
    assert least < 1 - rails / whole < most
