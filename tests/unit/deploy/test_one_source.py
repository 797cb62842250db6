"""What is simulated is what switches are told: marks, pauses, headroom, pool and classes."""

from __future__ import annotations

import json
import math
import re
from typing import TYPE_CHECKING

import pytest
from deployments import build, in_every_language

from netloom.engines.packet.lower import headroom_bytes
from netloom.fabric.wire import lossless_ethernet as lossless
from netloom.fabric.wire.latency import PROPAGATION_S_PER_M
from netloom.ops.switch_systems import switch_files
from netloom.parts.load import load_catalog
from netloom.study.inputs import catalog_of
from netloom.study.simulate.choices import Choices
from netloom.study.simulate.packet import PacketRunner
from netloom.study.simulate.run import case_of

if TYPE_CHECKING:
    from netloom.ops.deploy.intent import Intent

NODES = {"50g": "dgx-h100", "800g": "dgx-b300"}
PAUSED = sorted(
    name
    for name, one in load_catalog().technologies.items()
    if one.flow_control == "pfc"
    and load_catalog().switches[one.switch].buffer_bytes is not None
    and not one.transport.startswith("rocev1")
)


def intent_of(technology: str) -> Intent:
    return build(technology, nodes=8, node=NODES.get(technology.rpartition("-")[2], "dgx-h100"))


def runner_of(intent: Intent, choices: Choices | None = None) -> PacketRunner:
    scenario = intent.site.scenario
    case = case_of(scenario, catalog_of(scenario, None), engine="packet", choices=choices)
    assert isinstance(case.runner, PacketRunner)
    return case.runner


def test_there_are_technologies_to_compare() -> None:
    assert {"rocev2-100g", "rocev2-400g", "rocev2-800g", "spectrum-x-400g"} <= set(PAUSED)


@pytest.mark.parametrize("technology", PAUSED)
def test_marks_and_pauses_are_the_same(technology: str) -> None:
    intent = intent_of(technology)
    quality, runner = intent.quality, runner_of(intent)
    assert quality is not None
    settings = runner.settings
    if settings.ecn is not None:  # a scheme that reads no marks is simulated without any
        assert settings.ecn.at_rate_bps == 0
        assert settings.ecn.kmin_bytes == quality.ecn.least_bytes
        assert settings.ecn.kmax_bytes == quality.ecn.most_bytes
        assert 100 * settings.ecn.pmax == pytest.approx(quality.ecn.mark_pct)
    assert (
        settings.pfc.resume_bytes == {p.xon_offset_bytes for p in quality.profiles.values()}.pop()
    )
    wiring = runner.wiring
    assert isinstance(settings.switch.buffer_bytes, tuple)
    rooms = headroom_bytes(wiring, settings)
    for switch in range(wiring.num_endpoints, wiring.num_vertices):
        room = int(rooms[wiring.link_target == switch].sum())
        # What is left for traffic is the pool that files give, whatever the switch's cables.
        assert settings.switch.buffer_bytes[switch] - room == quality.pool_bytes
    assert settings.switch.alpha == min(one.alpha for one in quality.profiles.values())


@pytest.mark.parametrize("technology", PAUSED)
def test_headroom_is_one_function_of_rate_and_cable(technology: str) -> None:
    intent = intent_of(technology)
    quality, runner = intent.quality, runner_of(intent)
    assert quality is not None
    forward_s = intent.site.network.technology.latency.switch_s
    for (rate_bps, length_m), profile in quality.profiles.items():
        assert profile.xoff_bytes == lossless.port_headroom_bytes(
            rate_bps=rate_bps, length_m=length_m, forward_s=forward_s
        )
    wiring = runner.wiring
    rooms = headroom_bytes(wiring, runner.settings)
    enters = (wiring.link_target >= wiring.num_endpoints) & ~wiring.link_scale_up
    for link in enters.nonzero()[0].tolist():
        # The simulator knows the mean cable of a stage, and orders the next that is sold.
        laid_m = wiring.link_delay_ps[link] / 1e12 / PROPAGATION_S_PER_M
        assert rooms[link] == lossless.port_headroom_bytes(
            rate_bps=float(wiring.link_rate_bps[link]),
            length_m=lossless.ordered_m(laid_m),
            forward_s=forward_s,
        )
    # All of it has room behind the pool.
    assert quality.headroom_bytes >= max(
        sum(
            quality.profile(cable.rate_bps, intent.site.length_m(cable)).xoff_bytes
            for cable in intent.site.cables_of[number]
        )
        for number in range(len(intent.site.nics), len(intent.site.plant.devices))
    )


@pytest.mark.parametrize("technology", PAUSED)
def test_every_system_is_told_the_same(technology: str) -> None:
    intent = intent_of(technology)
    quality = intent.quality
    assert quality is not None
    number = len(intent.site.nics)
    files = in_every_language(intent)
    folder = f"switches/{intent.site.hostnames[number]}"
    for system, file in switch_files():
        if file.read_device is None or system.name == "frr" or file.name.endswith("frr.conf"):
            continue
        device = file.read_device(files[f"{folder}/{file.name}"], file.name)
        for port in device.ports.values():
            assert port.pausing == {quality.priority}, system.name
            assert port.priority_of[quality.dscp] == quality.priority
            assert port.priority_of[quality.cnp_dscp] == quality.cnp_priority
            marks = port.marks[quality.priority]
            assert marks.least_bytes == quality.ecn.least_bytes
            assert marks.most_bytes == quality.ecn.most_bytes
            assert marks.mark_pct == quality.ecn.mark_pct
    config = json.loads(files[f"{folder}/sonic/config_db.json"])
    assert config["BUFFER_POOL"]["ingress_lossless_pool"]["size"] == str(quality.pool_bytes)
    thresholds = {
        row["dynamic_th"] for name, row in config["BUFFER_PROFILE"].items() if "pg_lossless" in name
    }
    assert thresholds == {f"{math.log2(lossless.ALPHA):.0f}"} == {"-3"}
    nics = files["hosts/n0000/nics.sh"]
    assert set(re.findall(r"--dscp2prio set,(\d+),(\d)", nics)) == {
        (str(quality.dscp), str(quality.priority)),
        (str(quality.cnp_dscp), str(quality.cnp_priority)),
    }


def test_marks_that_are_asked_for_stay() -> None:
    asked = runner_of(intent_of("rocev2-400g"), Choices(ecn="5KB-200KB-1%")).settings.ecn
    assert asked is not None
    assert (asked.kmin_bytes, asked.kmax_bytes, asked.pmax) == (5_000, 200_000, 0.01)


def test_marks_begin_before_pauses_and_end_before_a_lone_queue_is_paused() -> None:
    for technology in PAUSED:
        quality = intent_of(technology).quality
        assert quality is not None
        alone = quality.pool_bytes * lossless.ALPHA / (1 + lossless.ALPHA)
        assert quality.ecn.least_bytes < quality.xoff_at_bytes
        assert quality.ecn.least_bytes < quality.ecn.most_bytes < alone
