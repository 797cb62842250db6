"""Which cables are taken, and how many transceivers light them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from cost_parts import cable, cables, node, rail_fat_tree, transceivers
from hypothesis import given
from hypothesis import strategies as st

from netloom.errors import InfeasibleError
from netloom.fabric.cost.cabling import Cabling, cable_up
from netloom.fabric.cost.layout import lay_out
from netloom.fabric.cost.modules import apportion
from netloom.fabric.cost.optics import Shop
from netloom.fabric.design import Design, Stage
from netloom.spec.scenario import Floor

STAGE = Stage(lower="leaf", upper="spine", num_cables=1, rate_bps=400e9)


def shop(*, shared_cages: bool = False) -> Shop:
    modules = tuple(m for m in transceivers() if m.num_ports == (2 if shared_cages else 1))
    return Shop(
        stage=STAGE,
        shared_cages=shared_cages,
        cables=cables(),
        at_lower=modules,
        at_upper=modules,
    )


def cabling(design: Design, **floor: object) -> Cabling:
    room = Floor.model_validate(floor)
    layout = lay_out(design, room, per_rack=room.nodes_per_rack)
    return cable_up(design, layout, node(), cables=cables(), transceivers=transceivers())


@pytest.mark.parametrize(
    ("length_m", "in_rack", "expected"),
    [
        (3, True, "DAC"),  # 120 + 90 = 210 USD beats 250 + 90 and all optics
        (5, True, "ACC"),  # beyond passive copper
        (3, False, "AOC"),  # copper stays in the rack; 912 beats 53 + 2 x 600
        (30, False, "AOC"),  # 1,020 against 80 + 1,200
        (50, False, "OM4"),
        (60, False, "OS2"),  # SR4 ends at 50 m, though the fibre would go on to 100
        (500, False, "OS2"),
    ],
)
def test_the_cheapest_cable_that_reaches_is_taken(
    length_m: float,
    in_rack: bool,  # noqa: FBT001  (a column of the table above)
    expected: str,
) -> None:
    assert shop().best(length_m, in_rack=in_rack).cable.name == expected


def test_an_active_optical_cable_cannot_share_a_cage() -> None:
    assert shop(shared_cages=True).best(30, in_rack=False).cable.name == "OM4"


def test_what_nothing_reaches_is_an_error_with_length_and_rate() -> None:
    with pytest.raises(InfeasibleError, match=r"leaf to spine.*400Gbps over 501m.*catalogue file"):
        shop().best(501, in_rack=False)


def test_a_smaller_hall_is_proposed_only_where_it_would_help() -> None:
    with pytest.raises(InfeasibleError, match="or make the hall smaller"):
        shop().best(501, in_rack=False)
    odd = replace(shop(), stage=replace(STAGE, rate_bps=400e9 / 3))
    with pytest.raises(InfeasibleError, match=r"133Gbps over 5m.*or use another uplink_rate$"):
        odd.best(5, in_rack=False)
    to_hosts = replace(odd, stage=replace(odd.stage, lower="node", upper="leaf"))
    with pytest.raises(InfeasibleError, match=r"133Gbps over 5m.*catalogue file of your own$"):
        to_hosts.best(5, in_rack=False)


def test_a_hall_too_large_for_any_cable_is_an_error() -> None:
    with pytest.raises(InfeasibleError, match="nothing in the catalogue carries 400Gbps"):
        cabling(rail_fat_tree(4_096), row_pitch="50m", rack_width="10m")


def test_copper_never_leaves_its_rack() -> None:
    for run in cabling(rail_fat_tree(256)).runs:
        assert run.cable.medium not in ("dac", "acc")


def test_every_cable_is_at_least_as_long_as_its_way() -> None:
    design = rail_fat_tree(512)
    layout = lay_out(design, Floor(), per_rack=4)
    for route in layout.routes:
        runs = [run for run in cabling(design).runs if run.stage == route.stage]
        assert max(run.length_m for run in runs) >= route.longest_m
        ordered_m = sum(run.length_m * run.num_cables for run in runs)
        assert ordered_m >= route.mean_m * route.stage.num_cables


def test_an_odd_port_takes_a_whole_twin_module() -> None:
    # 31 nodes: each of 8 leaves has 31 + 32 ports in use: 31.5 twin modules, so 32 each; each of
    # the 4 spines has 64 ports: 32; each node 8 ports: 4.
    assert cabling(rail_fat_tree(31)).num_modules_by_level == {
        "node": 31 * 4,
        "leaf": 8 * 32,
        "spine": 4 * 32,
    }


def test_a_node_with_one_nic_in_a_cage_takes_single_modules() -> None:
    design = rail_fat_tree(31)
    layout = lay_out(design, Floor(), per_rack=4)
    shared = cable_up(
        design, layout, node(ports_per_cage=1), cables=cables(), transceivers=transceivers()
    )
    assert shared.num_modules_by_level["node"] == 31 * 8


def test_a_plain_fibre_alone_is_not_a_connection() -> None:
    lonely = Shop(
        stage=STAGE,
        shared_cages=False,
        cables=(cable("OM4", "multimode", "100m", "50USD"),),
        at_lower=(),
        at_upper=transceivers(),
    )
    with pytest.raises(InfeasibleError):
        lonely.best(10, in_rack=False)


# Up to 4 nodes share a rack with their leaves, over copper that needs no module.
@given(st.integers(5, 600))
def test_all_ports_are_lit_and_no_switch_has_more_modules_than_cages(num_nodes: int) -> None:
    design = rail_fat_tree(num_nodes)
    found = cabling(design)
    assert sum(run.num_cables for run in found.runs) == design.num_cables
    modules = found.num_modules_by_level
    for tier in design.tiers:
        ports = sum(
            s.num_cables * ((s.lower == tier.name) + (s.upper == tier.name)) for s in design.stages
        )
        assert ports / 2 <= modules[tier.name] <= tier.num_switches * 32
    assert modules["node"] == num_nodes * 4


@given(
    st.lists(st.floats(0, 1e6), min_size=1, max_size=30).filter(lambda shares: sum(shares) > 1e-3),
    st.integers(0, 10**7),
)
def test_apportioned_numbers_sum_to_the_total_and_lie_next_to_their_share(
    shares: list[float], total: int
) -> None:
    numbers = apportion(np.array(shares), total)
    exact = np.array(shares) * total / sum(shares)
    assert numbers.sum() == total
    assert np.all(np.abs(numbers - exact) < 1 + 1e-3)
