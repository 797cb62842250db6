"""The numbers that keep RoCE lossless are consistent, and come from the cables."""

from __future__ import annotations

from dataclasses import replace

import pytest
from deployments import build

from netloom.errors import InfeasibleError, SpecError
from netloom.fabric.wire import headroom
from netloom.ops.deploy import quality
from netloom.ops.deploy.partitions import partitions_of


def test_headroom_covers_every_cable_as_ordered() -> None:
    intent = build("rocev2-400g")
    assert intent.quality is not None
    for cable in intent.site.plant.cables:
        length_m = intent.site.length_m(cable)
        # The textbook's, and what arrives in the 667 ns that the switch's pipeline takes.
        needed = headroom.textbook_bytes(rate_bps=400e9, length_m=length_m) + 667 * 50
        profile = intent.quality.profile(400e9, length_m)
        assert needed <= profile.xoff_bytes < needed + 256


def test_the_profile_of_ten_metres_at_400g_is_the_textbooks() -> None:
    # Two frames of 9216, a pause of 64, 905 quanta of 64 bytes, and 2 x 10 m x 5 ns/m x 50 B/ns.
    expected = 2 * 9216 + 64 + 905 * 64 + 5000
    assert headroom.textbook_bytes(rate_bps=400e9, length_m=10) == pytest.approx(expected)


def test_marks_come_before_pauses_and_headroom_fits() -> None:
    for technology in ("rocev2-100g", "rocev2-200g", "rocev2-400g", "spectrum-x-400g"):
        intent = build(technology, nodes=16)
        settings = intent.quality
        assert settings is not None
        assert settings.ecn.least_bytes < settings.xoff_at_bytes
        buffer_bytes = intent.site.network.design.switch.buffer_bytes
        assert buffer_bytes is not None
        assert settings.pool_bytes + settings.headroom_bytes <= buffer_bytes


@pytest.mark.parametrize("technology", ["infiniband-ndr", "tcp-400g", "uet-400g"])
def test_a_network_without_pauses_has_no_lossless_settings(technology: str) -> None:
    assert build(technology).quality is None


def test_a_node_that_is_not_there_is_refused() -> None:
    with pytest.raises(SpecError, match=r"'a' has node 64, but nodes are 0 to 63"):
        build("infiniband-ndr", tenants="[{name: a, nodes: 60-64}]")


def test_a_node_of_two_tenants_is_refused() -> None:
    tenants = "[{name: a, nodes: 0-7}, {name: b, nodes: 7-9}]"
    with pytest.raises(SpecError, match=r"node 7 belongs to 'a' and to 'b'"):
        build("infiniband-ndr", tenants=tenants)


def test_keys_that_are_given_stay_and_others_are_the_lowest_free() -> None:
    tenants = (
        "[{name: a, nodes: '0'}, {name: b, nodes: '1', partition_key: 1}, {name: c, nodes: '2'}]"
    )
    intent = build("infiniband-ndr", tenants=tenants)
    assert [one.key for one in partitions_of(intent.site)] == [2, 1, 3]
    assert [one.hosts for one in intent.partitions][1] == tuple(range(8, 16))


def test_a_buffer_smaller_than_the_headroom_is_infeasible() -> None:
    site = build("rocev2-400g").site
    design = site.network.design
    small = design.switch.model_copy(update={"buffer_bytes": 1e6})
    network = replace(site.network, design=replace(design, switch=small))
    with pytest.raises(InfeasibleError, match="bytes of headroom, and its buffer has 1,000,000"):
        quality.quality_of(replace(site, network=network))
