"""HPCC's configurations, as its run.py writes them, set the packet engine up like its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from netloom.engines.packet import run_packets
from netloom.errors import SpecError
from netloom.formats.simulators.ns3 import read_config, read_flows, read_topology
from netloom.formats.simulators.ns3_settings import (
    case_notes,
    config_notes,
    in_turn,
    packet_settings,
)
from netloom.validation.fct.hpcc import fat_tree, settings_of

if TYPE_CHECKING:
    from netloom.formats.simulators.ns3 import Ns3Topology
    from netloom.workload.transfers import Transfers

RED = """KMAX_MAP 2 100000000000 1600 400000000000 6400
KMIN_MAP 2 100000000000 400 400000000000 1600
PMAX_MAP 2 100000000000 0.20 400000000000 0.20
"""
STEP = """KMAX_MAP 2 100000000000 300 400000000000 1200
KMIN_MAP 2 100000000000 300 400000000000 1200
PMAX_MAP 2 100000000000 1.00 400000000000 1.00
"""


def written(mode: int, rates: str, *, gain: float = 0.00390625, marks: str = RED) -> str:
    """Return run.py's template (--bw 100 --utgt 99), as far as it bears on the simulation."""
    return f"""ENABLE_QCN 1
USE_DYNAMIC_PFC_THRESHOLD 1
PACKET_PAYLOAD_SIZE 1000
CC_MODE {mode}
ALPHA_RESUME_INTERVAL 1
RATE_DECREASE_INTERVAL 4
CLAMP_TARGET_RATE 0
RP_TIMER 300
EWMA_GAIN {gain}
FAST_RECOVERY_TIMES 1
{rates}
MIN_RATE 1000Mb/s
L2_CHUNK_SIZE 4000
L2_ACK_INTERVAL 1
L2_BACK_TO_ZERO 0
HAS_WIN 1
GLOBAL_T 1
VAR_WIN 1
FAST_REACT 1
U_TARGET 0.99
MI_THRESH 0
MULTI_RATE 0
SAMPLE_FEEDBACK 0
PINT_PROB 1.0
RATE_BOUND 1
ACK_HIGH_PRIO 1
LINK_DOWN 0 0 0
BUFFER_SIZE 32
{marks}"""


CASES = {
    "HPCC-INT": written(3, "RATE_AI 40.0Mb/s\nRATE_HAI 40.0Mb/s"),
    "HPCC-PINT": written(10, "RATE_AI 40.0Mb/s\nRATE_HAI 40.0Mb/s"),
    "DCQCN+w": written(1, "RATE_AI 20.0Mb/s\nRATE_HAI 200.0Mb/s"),
    "TIMELY+w": written(7, "RATE_AI 100.0Mb/s\nRATE_HAI 500.0Mb/s"),
    "DCTCP": written(8, "DCTCP_RATE_AI 615Mb/s", gain=0.0625, marks=STEP),
}


@pytest.mark.parametrize("scheme", CASES)
def test_a_file_of_run_py_is_the_scheme_that_its_authors_are_compared_with(scheme: str) -> None:
    config = read_config(CASES[scheme], name="config.txt")
    found, known = packet_settings(config, fat_tree()), settings_of(scheme)
    assert found.congestion_control == known.congestion_control
    assert found.transport == known.transport
    assert config_notes(config) == ()
    own = dict(found.parameters)
    if scheme == "DCQCN+w":
        # Steps of 5 and 50 Mb/s for 25 Gb/s, or at once for the 100 Gb/s of the hosts.
        assert (own.pop("additive_bps"), own.pop("hyper_bps")) == (20e6, 200e6)
        assert own.pop("alpha_period_ps") == pytest.approx(1e6)
        assert own.pop("cut_period_ps") == pytest.approx(4e6)
        assert own.pop("increase_period_ps") == pytest.approx(300e6)
        assert (own.pop("recoveries"), own.pop("clamp_target")) == (1, 0)
        own["steps_for_bps"] = 25e9
    if scheme == "TIMELY+w":
        assert own.pop("additive_of_line") == pytest.approx(1e-3)
        assert own.pop("hyper_of_line") == pytest.approx(5e-3)
    if scheme.startswith("HPCC"):
        assert own.pop("increase_of_line") == pytest.approx(4e-4)
    if scheme in {"HPCC-INT", "HPCC-PINT", "TIMELY+w"}:
        own.pop("min_rate_bps")  # the scheme's own default: 1 Gb/s
    if scheme == "DCTCP":
        assert (own.pop("gain"), own.pop("min_rate_bps")) == (1 / 16, 1e9)
    assert own == dict(known.parameters)


def test_a_window_is_fixed_scaled_or_none_as_the_file_says() -> None:
    text = CASES["DCQCN+w"]
    for change, window in (
        (("VAR_WIN 1", "VAR_WIN 0"), 1),
        (("HAS_WIN 1", "HAS_WIN 0"), 0),
        (("VAR_WIN 1", "VAR_WIN 1"), 2),
    ):
        config = read_config(text.replace(*change), name="config.txt")
        assert packet_settings(config, fat_tree()).parameters["window"] == window


def test_what_is_not_followed_is_said() -> None:
    text = CASES["HPCC-PINT"].replace("PINT_PROB 1.0", "PINT_PROB 0.5")
    config = read_config(text.replace("LINK_DOWN 0 0 0", "LINK_DOWN 100 1 2"), name="config.txt")
    assert config_notes(config) == (
        "PINT_PROB 0.5 is not followed: this ran as with 1",
        "LINK_DOWN: switches leave out dead links of their own; no other switch reroutes",
    )


def test_hpcc_is_not_without_its_window_and_says_so() -> None:
    change = ("VAR_WIN 1", "VAR_WIN 0\nPINT_LOG_BASE 1.05")
    told = "VAR_WIN 0 is not followed: this ran as with 1"
    base = "PINT_LOG_BASE 1.05 is not followed: this ran as with 1.01"
    for scheme, notes in (("HPCC-INT", (told,)), ("HPCC-PINT", (base, told)), ("DCQCN+w", ())):
        config = read_config(CASES[scheme].replace(*change), name="config.txt")
        assert config_notes(config) == notes


def test_keys_that_the_simulator_does_not_know_are_told() -> None:
    # Forks have more of them, such as conweave-ns3's.
    config = read_config(f"{CASES['DCTCP']}ENABLE_IRN 1\n", name="config.txt")
    told = "ENABLE_IRN is no key of HPCC's simulator: nothing was done about it"
    assert config_notes(config) == (told,)


def case(text: str, flows: str) -> tuple[Ns3Topology, Transfers]:
    topology = read_topology(text, name="t")
    return topology, read_flows(flows, topology, name="f")


STAR = "4 1 3\n3\n0 3 100Gbps 1us 0\n1 3 100Gbps 1us 0\n2 3 100Gbps 1us 0\n"


@pytest.mark.parametrize(
    "flows",
    [
        "0 2 3 100 10000000 2\n1 2 4 100 10000000 2\n",
        "0 2 3 100 10000000 2\n0 1 4 100 10000000 2\n",
    ],
    ids=["at a switch", "at a host"],
)
def test_priority_groups_take_turns(flows: str) -> None:
    # 10 MB each in packets of 1090 bytes: together 1.74 ms at 100 Gb/s, and both are there to its
    # end. By strict priority one of them would be done after 1 ms.
    topology, transfers = case(STAR, f"2\n{flows}")
    config = read_config(CASES["HPCC-INT"], name="config.txt")
    settings = in_turn(packet_settings(config, topology.wiring), transfers)
    delivery = run_packets(topology.wiring, transfers, settings)
    took_s = (delivery.finish_ps - delivery.start_ps) * 1e-12
    assert took_s == pytest.approx(1.79e-3, rel=0.05)
    assert in_turn(settings, case(STAR, "1\n0 2 3 100 1000 2\n")[1]) is settings


def test_a_host_with_two_nics_sends_a_flow_by_one_of_them() -> None:
    # As in HPCC's ali_32host_10rack.txt: 1000 packets of 1048 bytes at 25 Gb/s are 335 us, and
    # half of that over both NICs, as if each were hashed.
    text = "4 2 4\n2 3\n0 2 25Gbps 1us 0\n0 3 25Gbps 1us 0\n1 2 25Gbps 1us 0\n1 3 25Gbps 1us 0\n"
    lines = "".join(f"0 1 3 100 1000000 {2 + at}\n" for at in range(16))
    topology, transfers = case(text, f"16\n{lines}")
    config = read_config(CASES["DCTCP"], name="config.txt")
    settings = packet_settings(config, topology.wiring)
    delivery = run_packets(topology.wiring, transfers, settings)
    took_s = (delivery.finish_ps - delivery.start_ps) * 1e-12
    assert took_s == pytest.approx(339.8e-6, rel=0.01)
    out = delivery.link_bytes[topology.wiring.link_source == 0]
    assert out.min() > 4e6  # of 16.8: a hash takes either


def test_what_of_a_case_runs_otherwise_is_told() -> None:
    text = STAR.replace("4 1 3", "4 1 4") + "2 3 25Gbps 1us 0\n"
    topology, transfers = case(text, "2\n0 2 0 100 10 2\n1 2 3 100 10 2\n")
    config = read_config(CASES["DCTCP"], name="config.txt")
    assert case_notes(config, topology.wiring, transfers) == (
        "pg 0 goes first there, beyond buffers, pauses and marks; here it waits its turn",
        "marking maps: thresholds for links of 25 Gb/s follow in proportion",
        "of parallel links the simulator routes over the last alone; here over all",
    )


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("RATE_AI fast", r"config.txt:\d+: 'fast'"),
        ("EWMA_GAIN -1", r"config.txt:\d+: '-1' is no EWMA_GAIN"),
        ("RP_TIMER 1 2", r"config.txt:\d+: RP_TIMER takes one value"),
        ("MI_THRESH 300", r"config.txt:\d+: '300' is no MI_THRESH"),
        ("LINK_DOWN 5 1", r"config.txt:\d+: 'LINK_DOWN 5 1' has not the form"),
        ("LINK_DOWN 5us 1 2", r"config.txt:\d+: '5us' is no time in microseconds"),
    ],
)
def test_a_wrong_number_is_refused_with_its_line(line: str, message: str) -> None:
    key = line.split(maxsplit=1)[0]
    kept = [row for row in CASES["DCQCN+w"].splitlines() if not row.startswith(key + " ")]
    with pytest.raises(SpecError, match=message):
        read_config("\n".join([*kept, line]), name="config.txt")
