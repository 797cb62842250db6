"""What Python knows of schemes is what the core's own list of them says."""

from __future__ import annotations

from typing import Final

import pytest

from netloom.engines import native
from netloom.engines.packet.presets import LOAD_BALANCING, settings_for
from netloom.engines.packet.settings import BALANCES, CONGESTION_CONTROLS, SPRAYS
from netloom.errors import SpecError
from netloom.parts.load import load_catalog

SCHEMES: Final = native.schemes()
ROCE: Final = load_catalog().technology("rocev2-400g")


def test_python_and_the_core_know_the_same_congestion_controls() -> None:
    assert list(CONGESTION_CONTROLS) == list(SCHEMES)


def test_python_and_the_core_know_the_same_load_balancings() -> None:
    core = native.load_balancings()
    assert set(BALANCES) == {name for name in core if core[name]["chosen_by"] == "switch"}
    assert set(SPRAYS) == {name for name in core if core[name]["chosen_by"] == "sender"}
    assert {name for pair in LOAD_BALANCING.values() for name in pair} == set(core)


def test_a_hash_and_a_table_keep_a_flow_on_its_path_and_what_looks_at_queues_does_not() -> None:
    kept = {name for name, facts in native.load_balancings().items() if facts["keeps_path"]}
    assert kept == {"ecmp", "d-mod-k", "source", "fixed"}


@pytest.mark.parametrize("scheme", SCHEMES)
def test_settings_give_a_scheme_what_its_code_in_the_core_needs(scheme: str) -> None:
    traits = SCHEMES[scheme]
    chosen = settings_for(ROCE, congestion_control=scheme)
    plain = settings_for(ROCE, congestion_control="none").transport
    asked = chosen.transport.ask_every_packets
    assert (chosen.ecn is not None) == traits["needs_marks"]
    assert chosen.transport.cnp_interval_ps == traits["cnp_interval_ps"]
    assert chosen.transport.header_bytes - plain.header_bytes == traits["telemetry_bytes"]
    assert chosen.transport.telemetry == (traits["telemetry"] == "every-hop")
    assert (asked == 0) == traits["needs_every_ack"]
    assert chosen.transport.asks_per_rtt == traits["acks_per_rtt"]


@pytest.mark.parametrize("scheme", SCHEMES)
def test_receivers_that_pull_go_with_the_schemes_that_say_so(scheme: str) -> None:
    uet = load_catalog().technology("uet-400g")
    if SCHEMES[scheme]["goes_with_pulls"]:
        chosen = settings_for(uet, transport="rccc", congestion_control=scheme)
        assert chosen.congestion_control == scheme
    else:
        with pytest.raises(SpecError, match=scheme):
            settings_for(uet, transport="rccc", congestion_control=scheme)


def test_the_parameters_of_a_scheme_come_with_their_defaults() -> None:
    assert SCHEMES["none"]["parameters"] == {}
    assert SCHEMES["reno"]["parameters"] == {"first_packets": 10.0}  # RFC 6928
    assert SCHEMES["hpcc"]["parameters"]["target"] == 0.95  # eta in the paper
