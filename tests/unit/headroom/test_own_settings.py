"""Settings of one's own: the same value in simulate, predict, headroom, deploy and on hosts."""

from __future__ import annotations

from dataclasses import replace

import pytest

import netloom as nl
from netloom.errors import SpecError
from netloom.formats.nccl.host_settings import nccl_environment, nic_commands
from netloom.ops.deploy.intent import intent_of
from netloom.spec.fabric.settings import OwnSettings
from netloom.spec.load import parse
from netloom.study.inputs import catalog_of
from netloom.study.networks import network_of
from netloom.study.predict.packet_contention import PacketContention
from netloom.study.simulate.choices import Choices
from netloom.study.simulate.packet import PacketRunner
from netloom.study.simulate.run import case_of
from netloom.workload.collective import Group

OWN = OwnSettings.of_numbers(
    kmin_bytes=50_000,
    kmax_bytes=300_000,
    pmax=0.1,
    alpha=0.25,
    parameters={"gain": 1 / 64, "additive_of_line": 2e-3},
    cnp_interval_s=20e-6,
    qps=4,
)


def settings_of(scenario: nl.Scenario) -> PacketRunner:
    runner = case_of(scenario, catalog_of(scenario, None)).runner
    assert isinstance(runner, PacketRunner)
    return runner


def test_own_settings_reach_switches_nics_and_files_alike() -> None:
    scenario = nl.example("incast-rocev2").with_settings(OWN)
    run = settings_of(scenario).settings
    assert run.ecn is not None
    assert (run.ecn.kmin_bytes, run.ecn.kmax_bytes, run.ecn.pmax) == (50_000, 300_000, 0.1)
    assert (run.switch.alpha, run.connections) == (0.25, 4)
    assert run.parameters == {"gain": 1 / 64, "additive_of_line": 2e-3}
    assert run.transport.cnp_interval_ps == 20_000_000
    said = nl.headroom(scenario)
    assert (said.settings.alpha, said.published) == (0.25, "own")
    # alpha B / (1 + alpha n): twice the share is not twice the bytes with every port congested.
    usual = nl.headroom(nl.example("incast-rocev2")).settings
    assert usual.alone_at_bytes < said.settings.alone_at_bytes < 2 * usual.alone_at_bytes
    quality = intent_of(scenario, catalog_of(scenario, None)).quality
    assert quality is not None
    assert (quality.ecn.least_bytes, quality.ecn.most_bytes) == (50_000, 300_000)
    assert {one.alpha for one in quality.profiles.values()} == {0.25}


def test_hosts_are_told_what_differs_from_the_nic_s_own() -> None:
    scenario = nl.example("incast-rocev2")
    plain = nic_commands(intent_of(scenario, catalog_of(scenario, None)), 0)
    assert "cc_params" not in plain
    intent = intent_of(scenario.with_settings(OWN), catalog_of(scenario, None))
    script = nic_commands(intent, 0)
    # 1,024 x (1 - 1/64); 0.002 of 400 Gb/s in Mb/s; 20 us.
    for line in ("echo 1008", "echo 800", "echo 20 "):
        assert line in script
    for name in ("rp_dce_tcp_g", "rp_ai_rate", "np_min_time_between_cnps"):
        assert f"cc_params/{name}" in script
    assert "NCCL_IB_QPS_PER_CONNECTION=4\n" in nccl_environment(intent)


def test_a_file_gives_them_with_units() -> None:
    text = """
cluster:
  gpus: 16
  node: dgx-h100
  fabric:
    technology: rocev2-400g
    settings: {of: conweave, kmin: 20KB, kmax: 80KB, pmax: 5%, cnp_interval: 10us}
traffic: [{kind: incast, size: 1MB}]
"""
    asked = parse(text, name="own.yaml").cluster.fabric.settings
    assert isinstance(asked, OwnSettings)
    assert (asked.of, asked.kmax_bytes) == ("conweave", 80_000)
    assert asked.cnp_interval_s == pytest.approx(1e-5)


@pytest.mark.parametrize(
    ("own", "said"),
    [
        (OwnSettings.of_numbers(kmin_bytes=100_000), "give all three"),
        (
            OwnSettings.of_numbers(kmin_bytes=200_000, kmax_bytes=100_000, pmax=0.1),
            "Kmin comes first",
        ),
        (OwnSettings.of_numbers(of="conwave"), "conweave"),
    ],
)
def test_half_a_setting_is_refused(own: OwnSettings, said: str) -> None:
    with pytest.raises(SpecError, match=said):
        settings_of(nl.example("incast-rocev2").with_settings(own))


def test_ultra_ethernet_s_marks_are_for_its_queues() -> None:
    scenario = nl.example("incast-rocev2")
    with pytest.raises(SpecError, match="such as uet-400g"):
        case_of(scenario, catalog_of(scenario, None), choices=Choices(settings="uec-htsim"))
    fabric = scenario.cluster.fabric.model_copy(update={"technology": "uet-400g"})
    cluster = scenario.cluster.model_copy(update={"fabric": fabric})
    other = scenario.model_copy(update={"cluster": cluster})
    own = settings_of(other).settings.ecn
    assert settings_of(other.with_settings("uec-htsim")).settings.ecn == own


def test_predict_by_packets_runs_with_the_scenario_s_settings() -> None:
    scenario = nl.example("incast-rocev2")
    network = network_of(scenario.cluster, catalog_of(scenario, None))
    strict = OwnSettings.of_numbers(kmin_bytes=1_000, kmax_bytes=2_000, pmax=1.0)
    plain, marked = (
        float(
            PacketContention(1, choices=Choices(settings=asked), hop_bytes=8 << 20)
            .slowdown(network, Group(size=128, per_node=8), "ring", pace=0.9)
            .value
        )
        for asked in ("", strict)
    )
    assert marked > 1.05 * plain


def test_choices_for_one_technology_leave_others_as_they_are() -> None:
    contention = PacketContention(0, choices=Choices(settings="conweave"), chosen_for="rocev2-400g")
    assert replace(contention, seed=1).chosen_for == "rocev2-400g"
    scenario = nl.example("incast-rocev2")
    fabric = scenario.cluster.fabric.model_copy(update={"technology": "infiniband-ndr"})
    cluster = scenario.cluster.model_copy(update={"fabric": fabric})
    network = network_of(cluster, catalog_of(scenario, None))
    assert contention._settings(network, contention._wiring(network)).flow_control == "credits"
