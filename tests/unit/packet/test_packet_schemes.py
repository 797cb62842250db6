"""The registers of congestion controls and load balancings, held to the core's own lists."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, get_args

import pytest

from netloom.engines import native
from netloom.engines.balancing import LOAD_BALANCINGS, LoadBalancing
from netloom.engines.flow.settings import Balance
from netloom.engines.packet.presets import settings_for
from netloom.engines.packet.scheme import SCHEMES, Scheme
from netloom.errors import SpecError
from netloom.parts.load import load_catalog

CATALOG = load_catalog()
TRAITS: dict[str, Any] = {
    "name": "new",
    "catalogue_names": (),
    "marks": None,
    "telemetry": "none",
    "telemetry_bytes": 0,
    "cnp_interval_ps": 0,
    "needs_every_ack": True,
    "acks_per_rtt": 0.0,
    "goes_with_pulls": False,
    "pulled_parameters": {},
    "throttles_receivers": True,
    "is_off_by_default": False,
}


def core_list(name: str) -> dict[str, dict[str, Any]]:
    """Return what the core itself knows; skips where it is too old to say."""
    tell = getattr(native, name, None)
    if tell is None:
        pytest.skip(f"this core does not list its {name}")
    found: dict[str, dict[str, Any]] = tell()
    return found


@pytest.mark.parametrize("trait", [field.name for field in fields(Scheme)])
def test_a_scheme_that_lacks_a_trait_fails_where_it_is_defined(trait: str) -> None:
    Scheme(**TRAITS)
    with pytest.raises(TypeError, match=trait):
        Scheme(**{name: value for name, value in TRAITS.items() if name != trait})


def test_telemetry_without_bytes_is_refused() -> None:
    with pytest.raises(TypeError, match="telemetry pint of 0 bytes"):
        Scheme(**{**TRAITS, "telemetry": "pint"})


def test_each_scheme_is_one_module_of_its_name() -> None:
    for name in SCHEMES:
        assert SCHEMES.get(name).name == name
    assert len(SCHEMES) == 15


def test_the_core_knows_the_same_schemes_with_the_same_traits() -> None:
    core = core_list("schemes")
    assert set(SCHEMES.names()) == set(core)
    for scheme in SCHEMES.entries():
        said = {
            "needs_marks": scheme.needs_marks,
            "telemetry": scheme.telemetry,
            "telemetry_bytes": scheme.telemetry_bytes,
            "cnp_interval_ps": scheme.cnp_interval_ps,
            "needs_every_ack": scheme.needs_every_ack,
            "acks_per_rtt": scheme.acks_per_rtt,
            "goes_with_pulls": scheme.goes_with_pulls,
        }
        known = core[scheme.name]
        assert {trait: known[trait] for trait in said} == said, scheme.name
        assert set(scheme.pulled_parameters) <= set(known["parameters"]), scheme.name


def test_the_core_knows_the_same_load_balancings() -> None:
    core = core_list("load_balancings")
    entries = LOAD_BALANCINGS.entries()
    by = {who: {n for n in core if core[n]["chosen_by"] == who} for who in ("switch", "sender")}
    assert {entry.switches for entry in entries} == by["switch"]
    assert {entry.senders for entry in entries} == by["sender"]


def test_flows_know_the_load_balancings_that_say_so() -> None:
    assert {one.name for one in LOAD_BALANCINGS.entries() if one.in_flows} == set(get_args(Balance))


def test_a_load_balancing_that_lacks_a_trait_fails_where_it_is_defined() -> None:
    with pytest.raises(TypeError, match="max_paths"):
        LoadBalancing(name="new", switches="ecmp", senders="fixed", in_flows=False)  # type: ignore[call-arg]


def test_every_technology_names_what_is_registered() -> None:
    for technology in CATALOG.technologies.values():
        settings_for(technology)
        assert technology.load_balancing in LOAD_BALANCINGS


@pytest.mark.parametrize("scheme", SCHEMES.entries(), ids=lambda scheme: scheme.name)
def test_settings_give_a_scheme_what_it_needs(scheme: Scheme) -> None:
    roce = CATALOG.technology("rocev2-400g")
    chosen = settings_for(roce, congestion_control=scheme.name)
    plain = settings_for(roce, congestion_control="none").transport
    assert (chosen.ecn is not None) == scheme.needs_marks
    assert chosen.transport.cnp_interval_ps == scheme.cnp_interval_ps
    assert chosen.transport.header_bytes - plain.header_bytes == scheme.telemetry_bytes
    # mlx5 asks for one acknowledgement in 2**8 packets where the scheme does not need each.
    assert chosen.transport.ask_every_packets == (0 if scheme.needs_every_ack else 256)
    assert chosen.transport.asks_per_rtt == scheme.acks_per_rtt


@pytest.mark.parametrize("scheme", SCHEMES.entries(), ids=lambda scheme: scheme.name)
def test_receivers_that_pull_go_with_the_schemes_that_say_so(scheme: Scheme) -> None:
    uet = CATALOG.technology("uet-400g")
    if scheme.goes_with_pulls:
        chosen = settings_for(uet, transport="rccc", congestion_control=scheme.name)
        assert chosen.parameters == scheme.pulled_parameters
        assert (chosen.transport.restraint is not None) == scheme.throttles_receivers
    else:
        with pytest.raises(SpecError, match=f"{scheme.name} does not go with a receiver that"):
            settings_for(uet, transport="rccc", congestion_control=scheme.name)


def test_a_scheme_of_the_catalogue_that_is_off_by_default_must_be_asked_for() -> None:
    ndr = CATALOG.technology("infiniband-ndr")
    assert settings_for(ndr).congestion_control == "none"
    assert settings_for(ndr, congestion_control="ib-cc").congestion_control == "ib-cc"


def test_a_hash_and_a_table_keep_a_flow_on_its_path_and_what_looks_at_queues_does_not() -> None:
    core = core_list("load_balancings")
    kept = {name for name, facts in core.items() if facts["keeps_path"]}
    assert kept == {"ecmp", "d-mod-k", "source", "fixed"}


def test_the_parameters_of_a_scheme_come_with_their_defaults() -> None:
    core = core_list("schemes")
    assert core["none"]["parameters"] == {}
    assert core["reno"]["parameters"] == {"first_packets": 10.0}  # RFC 6928
    assert core["hpcc"]["parameters"]["target"] == 0.95  # eta in the paper
