"""Faults in time, from the scenario to the packets."""

from __future__ import annotations

from io import StringIO
from typing import TYPE_CHECKING

import numpy as np
import pytest
from rich.console import Console

import netloom as nl
from netloom.errors import SpecError
from netloom.fabric.wiring.built import wiring_of
from netloom.parts.load import load_catalog
from netloom.report.simulate.text import simulation_text
from netloom.spec.packets import PacketOptions
from netloom.study.fabrics import build
from netloom.study.networks import network_of
from netloom.study.simulate.faults import faults_of

if TYPE_CHECKING:
    from netloom.fabric.wiring.wiring import PacketTopology
    from netloom.spec.scenario import Scenario

CATALOG = load_catalog()


def _scenario(*faults: dict[str, object]) -> Scenario:
    fabric = {"technology": "rocev2-400g", "topology": {"kind": "fat-tree"}}
    flow = {"kind": "one-to-one", "source": 0, "target": 15, "size": "4MB"}
    return nl.load(
        {"cluster": {"gpus": 16, "fabric": fabric}, "traffic": [flow], "faults": list(faults)}
    )


def _wiring() -> PacketTopology:
    asked = _scenario()
    network = network_of(asked.cluster, CATALOG)
    return wiring_of(build(asked, CATALOG), network, asked.cluster.fabric.floor, scale_up=False)


def test_a_slow_link_makes_the_flow_as_slow() -> None:
    # All 4 MB at 100 instead of 400 Gb/s: four times as long, but for the latency.
    slow = _scenario({"kind": "slow", "part": "gpu:15", "rate": "100Gbps"})
    taken, whole = (nl.simulate(s, CATALOG).first.fct_s[0] for s in (slow, _scenario()))
    assert taken / whole == pytest.approx(4, rel=0.15)


def test_a_link_that_is_cut_for_a_while_delays_the_flow_by_more_than_that() -> None:
    cut = _scenario({"kind": "down", "part": "gpu:0-leaf:0", "at": "20us", "until": "120us"})
    found, whole = (nl.simulate(s, CATALOG).first for s in (cut, _scenario()))
    assert len(found.done) == 1
    assert found.fct_s[0] > whole.fct_s[0] + 100e-6


def test_a_nic_that_pauses_for_ever_stops_the_flow() -> None:
    stuck = _scenario({"kind": "pause", "part": "gpu:15", "at": "20us"})
    found = nl.simulate(stuck, CATALOG, until_s=1e-3)
    assert len(found.first.done) == 0
    assert found.partial


@pytest.mark.parametrize("kind", ["pause", "down"])
def test_a_run_that_can_never_end_stops_and_says_so(kind: str) -> None:
    found = nl.simulate(_scenario({"kind": kind, "part": "gpu:15", "at": "20us"}), CATALOG)
    assert found.partial
    assert found.first.delivery.stuck == "silence"
    assert any("1 of 1 transfers never end" in note for note in found.notes)


def test_a_run_waits_for_a_link_that_is_mended_late() -> None:
    # Nothing arrives for 30 s, which is longer than a thousand timeouts of 4 ms.
    cut = _scenario({"kind": "down", "part": "gpu:15", "at": "20us", "until": "30s"})
    found = nl.simulate(cut, CATALOG)
    assert not found.partial
    assert found.first.span_s > 30


def test_a_watchdog_ends_a_storm_of_pauses() -> None:
    storm = _scenario({"kind": "pause", "part": "gpu:15", "at": "20us"})
    saved = storm.model_copy(
        update={"packets": PacketOptions.model_validate({"watchdog": "200us", "restore": "1s"})}
    )
    found = nl.simulate(saved, CATALOG, until_s=20e-3)
    assert found.first.delivery.counters["watchdogs"] >= 1
    assert len(found.first.done) == 1


def test_a_nic_that_pauses_for_ever_pauses_again_when_the_watchdog_lets_it() -> None:
    # From 20 us on: 200 us of pause, 300 us ignored, 200 us of pause, ...: by 1.3 ms the third
    # watchdog has come (220, 720 and 1,220 us), and 3 x 200 us were paused.
    storm = _scenario({"kind": "pause", "part": "gpu:15", "at": "20us"})
    watched = PacketOptions.model_validate({"watchdog": "200us", "restore": "300us"})
    found = nl.simulate(storm.model_copy(update={"packets": watched}), CATALOG, until_s=1.3e-3)
    assert found.first.delivery.counters["watchdogs"] == 3
    assert found.first.delivery.counters["pause_ps"] == 600_000_000


def test_a_pause_that_lasts_counts_up_to_where_the_run_stopped() -> None:
    stuck = _scenario({"kind": "pause", "part": "gpu:15", "at": "20us"})
    found = nl.simulate(stuck, CATALOG, until_s=1e-3)
    assert found.first.delivery.counters["pauses"] == 1
    assert found.first.delivery.counters["pause_ps"] == 980_000_000


def test_what_went_wrong_before_the_first_start_is_there_when_it_comes() -> None:
    # The same fault at the same state of the network, 1 ms later: the same completion.
    slow: dict[str, object] = {"kind": "slow", "part": "gpu:15", "rate": "100Gbps"}
    mended: dict[str, object] = {"kind": "down", "part": "gpu:0", "at": "10us", "until": "20us"}
    soon = _scenario(slow)
    late = _scenario(slow, mended)
    piece = late.traffic[0].model_copy(update={"start_s": 1e-3}) if late.traffic else None
    late = late.model_copy(update={"traffic": (piece,)})
    first, second = (nl.simulate(s, CATALOG).first for s in (soon, late))
    assert second.fct_s.tolist() == first.fct_s.tolist()


@pytest.mark.parametrize("technology", ["infiniband-ndr", "tcp-400g", "uet-400g"])
def test_pauses_and_their_watchdog_are_refused_where_nobody_pauses(technology: str) -> None:
    asked = _scenario({"kind": "pause", "part": "gpu:15"})
    fabric = asked.cluster.fabric.model_copy(update={"technology": technology})
    cluster = asked.cluster.model_copy(update={"fabric": fabric})
    asked = asked.model_copy(update={"cluster": cluster})
    with pytest.raises(SpecError, match=r"faults.0: pause faults need flow control pfc"):
        nl.simulate(asked, CATALOG)
    watched = PacketOptions.model_validate({"watchdog": "200us"})
    with pytest.raises(SpecError, match=r"packets.watchdog: flow control .* does not use it"):
        nl.simulate(asked.model_copy(update={"faults": (), "packets": watched}), CATALOG)


def test_a_flapping_link_is_cut_as_often_as_asked() -> None:
    flaps: dict[str, object] = {
        "kind": "down",
        "part": "gpu:0-leaf:0",
        "at": "20us",
        "until": "21us",
    }
    once = nl.simulate(_scenario(flaps), CATALOG).first
    often = nl.simulate(_scenario(flaps | {"every": "5ms", "times": 3}), CATALOG).first
    assert often.delivery.counters["lost"] >= once.delivery.counters["lost"] > 0
    faults = faults_of(_scenario(flaps | {"every": "5ms", "times": 3}).faults, _wiring())
    assert [fault.kind for fault in faults].count("down") == 3 * 2


def test_a_rebooted_switch_is_cut_off_on_every_cable() -> None:
    reboot = _scenario({"kind": "down", "part": "leaf:0", "at": "20us", "until": "300us"})
    found = nl.simulate(reboot, CATALOG).first
    assert len(found.done) == 1
    assert found.fct_s[0] > 280e-6


def test_a_link_that_two_faults_cut_is_down_until_both_are_mended() -> None:
    # The switch is back after 40 us, its cable to the sender only after 300.
    reboot: dict[str, object] = {
        "kind": "down",
        "part": "leaf:0",
        "at": "20us",
        "until": "40us",
    }
    cable = reboot | {"part": "gpu:0-leaf:0", "at": "10us", "until": "300us"}
    kinds = [
        [(fault.when_ps, fault.kind) for fault in faults_of(asked.faults, _wiring())]
        for asked in (_scenario(cable), _scenario(cable, reboot), _scenario(reboot, cable))
    ]
    assert kinds[0] == [(10_000_000, "down")] * 2 + [(300_000_000, "up")] * 2
    assert all(len(some) == len(kinds[1]) > len(kinds[0]) for some in kinds[1:])
    found = nl.simulate(_scenario(reboot, cable), CATALOG).first
    assert found.fct_s[0] > 300e-6


def test_a_link_that_two_faults_slow_has_the_lower_rate_and_then_its_own() -> None:
    faults = faults_of(
        _scenario(
            {"kind": "slow", "part": "gpu:15", "rate": "100Gbps", "at": "10us", "until": "50us"},
            {"kind": "slow", "part": "gpu:15", "rate": "200Gbps", "at": "20us", "until": "60us"},
        ).faults,
        _wiring(),
    )
    of_one = [fault for fault in faults if fault.link == faults[0].link]
    assert [round(fault.rate_bps / 1e9) for fault in of_one] == [100, 100, 200, 400]


def test_a_fault_never_makes_a_link_faster() -> None:
    fast: dict[str, object] = {"kind": "slow", "part": "gpu:15", "rate": "800Gbps"}
    with pytest.raises(SpecError, match=r"no link of gpu:15 is faster, 400Gbps at most; give a"):
        nl.simulate(_scenario(fast), CATALOG)


def test_a_link_loses_packets_in_one_way_at_a_time() -> None:
    loss: dict[str, object] = {"kind": "loss", "part": "gpu:15", "loss": "5%", "until": "50us"}
    bits: dict[str, object] = {"kind": "corrupt", "part": "leaf:0", "bit_errors": 1e-6}
    with pytest.raises(SpecError, match=r"^faults\.1: .* loses packets by faults\.0 at the same"):
        nl.simulate(_scenario(loss, bits), CATALOG)
    faults = faults_of(_scenario(loss, bits | {"at": "50us"}).faults, _wiring())
    into = [fault for fault in faults if fault.link == faults[0].link]
    assert [(fault.kind, fault.loss) for fault in into] == [("loss", 0.05), ("corrupt", 1e-6)]


def test_a_switch_that_pauses_for_ever_is_not_resumed_by_its_own_frames() -> None:
    # An incast of 7 x 4 MB into a buffer that pauses. From 100 us on the receivers' switch asks
    # for silence forever: what it holds may leave it, and nothing arrives after that.
    storm: dict[str, object] = {"kind": "pause", "part": "leaf:1", "at": "100us"}
    tree = {"kind": "fat-tree", "tiers": 2, "hosts_per_leaf": 8}
    incast = {"kind": "incast", "target": 15, "first": 0, "fan_in": 7, "size": "4MB"}
    scenario = nl.load(
        {
            "cluster": {"gpus": 16, "fabric": {"technology": "rocev2-400g", "topology": tree}},
            "traffic": [incast],
            "packets": {"switches": {"buffer": "6MB"}},
            "faults": [storm],
        }
    )
    choices = nl.Choices(congestion_control="none")
    found = nl.simulate(scenario, CATALOG, choices=choices, until_s=2e-3)
    pauses = found.first.delivery.tables["pauses"]
    assert pauses["begin_ps"].astype(np.int64).min() < 100_000_000
    last = {int(link): int(end) for link, end in zip(pauses["link"], pauses["end_ps"], strict=True)}
    names = {link: found.grid.link(link) for link in last}
    into = [end for link, end in last.items() if "->leaf:1" in names[link]]
    assert into
    assert set(into) == {-1}


@pytest.mark.parametrize(
    ("fault", "loses"),
    [
        ({"kind": "loss", "loss": "5%"}, "some"),
        ({"kind": "loss", "loss": "5%", "burst_packets": 4.0}, "some"),
        ({"kind": "loss", "loss": "50%", "least": "5KB"}, "none"),  # packets are of 4,158 bytes
        ({"kind": "loss", "loss": "50%", "least": "2KB", "direction": "to"}, "none"),
        ({"kind": "corrupt", "bit_errors": 1e-6}, "some"),  # 3 % of packets of 33,264 bits
        ({"kind": "corrupt", "bit_errors": 1e-12}, "none"),
    ],
)
def test_packets_are_lost_by_share_size_direction_and_bits(
    fault: dict[str, object], loses: str
) -> None:
    found = nl.simulate(_scenario(fault | {"part": "gpu:0"}), CATALOG).first
    assert (found.delivery.counters["lost"] > 0) == (loses == "some")
    assert len(found.done) == 1


def test_the_text_tells_of_losses_where_there_are_some() -> None:
    def words(*faults: dict[str, object]) -> str:
        console = Console(width=500, record=True, file=StringIO())
        console.print(simulation_text(nl.simulate(_scenario(*faults), CATALOG)))
        return console.export_text()

    lossy = words({"kind": "loss", "part": "gpu:0", "loss": "5%"})
    assert "lost on links" in lossy
    assert "timeouts" in lossy
    assert "lost on links" not in words()


def test_a_slow_receiver_is_slow_one_way() -> None:
    slow = _scenario({"kind": "slow", "part": "gpu:15", "rate": "100Gbps", "direction": "to"})
    other = _scenario({"kind": "slow", "part": "gpu:15", "rate": "100Gbps", "direction": "from"})
    taken, spared = (nl.simulate(s, CATALOG).first.fct_s[0] for s in (slow, other))
    assert taken > 3 * spared


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ({"kind": "down", "part": "leaf:9"}, r"^faults\.0: 'leaf:9' is not there; write leaf:0"),
        ({"kind": "down", "part": "leef:0"}, "did you mean 'leaf'"),
        ({"kind": "down", "part": "gpu:0-gpu:1"}, "no cable joins gpu:0 and gpu:1"),
        ({"kind": "down", "part": "gpu:0-leaf:0-gpu:1"}, "names 3 parts; name one, or two"),
        ({"kind": "slow", "part": "gpu:0"}, "'rate' belongs to kind slow"),
        ({"kind": "pause", "part": "gpu:0", "direction": "from"}, "stops what comes to the part"),
        ({"kind": "down", "part": "gpu:0", "loss": "1%"}, "'loss' belongs to kind loss"),
        ({"kind": "down", "part": "gpu:0", "at": "2us", "until": "1us"}, "'until' comes after"),
        ({"kind": "down", "part": "gpu:0", "every": "2us"}, "'every' and 'times' go together"),
        ({"kind": "down", "part": "gpu:0", "every": "2us", "times": 2}, "what repeats is mended"),
        (
            {"kind": "down", "part": "leaf:0", "until": "1us", "every": "2us", "times": 100_000},
            "times: 100,000 on 32 links are 3,200,000 faults; give 31,250 at most",
        ),
        (
            {"kind": "loss", "part": "gpu:0", "loss": "60%", "burst_packets": 1.2},
            "for one at least arrives between two bursts; give 1.5 or more",
        ),
        (
            {"kind": "slow", "part": "gpu:0", "rate": "1Gbps", "least": "1KB"},
            "belongs to kind loss",
        ),
    ],
)
def test_impossible_faults_are_refused(fault: dict[str, object], message: str) -> None:
    with pytest.raises(SpecError, match=message):
        nl.simulate(_scenario(fault), CATALOG)


def test_flows_have_no_faults_in_time() -> None:
    with pytest.raises(SpecError, match="faults: flows know no faults in time"):
        nl.simulate(_scenario({"kind": "down", "part": "gpu:0"}), CATALOG, engine="flow")
