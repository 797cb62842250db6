"""The shipped catalogue: complete, consistent, and every number vouched for."""

from __future__ import annotations

import math
import tomllib
from importlib.resources import files
from typing import TYPE_CHECKING

import pytest
from pydantic import BaseModel

from netloom.parts.load import KINDS, load_catalog
from netloom.parts.parts import PortMode

if TYPE_CHECKING:
    from collections.abc import Iterator

    from netloom.parts.parts import Model, Part, Technology

CATALOG = load_catalog()
PARTS = [
    pytest.param(part, id=f"{kind}.{part.name}")
    for kind in KINDS
    for part in CATALOG.parts(kind).values()
]
TECHNOLOGIES = {
    *("tcp-100g", "tcp-400g", "iwarp-100g", "rocev1-100g"),
    *("rocev2-50g", "rocev2-100g", "rocev2-200g", "rocev2-400g", "rocev2-800g"),
    *("infiniband-edr", "infiniband-hdr", "infiniband-ndr", "infiniband-xdr"),
    *("spectrum-x-400g", "spectrum-x-800g", "uet-400g", "uet-800g"),
    *("scheduled-400g", "scheduled-800g"),
    *("tcp-200g", "tcpx-200g", "tcpxo-200g", "slingshot-11"),
    *("efa-v1", "efa-v2", "efa-v3", "efa-v4"),
}
FEATURES = {
    *("control_plane", "load_balancing", "congestion_tuning", "isolation"),
    *("telemetry", "failover", "vendors", "maturity"),
}


def numbers(model: BaseModel, prefix: str = "") -> Iterator[tuple[str, float]]:
    """Yield every number that a file gives; defaults say that something is absent."""
    for name in sorted(model.model_fields_set):
        value = getattr(model, name)
        if isinstance(value, BaseModel):
            yield from numbers(value, f"{prefix}{name}.")
        elif isinstance(value, tuple) and value and isinstance(value[0], (float, PortMode)):
            yield f"{prefix}{name}", 1.0
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            yield f"{prefix}{name}", value


@pytest.mark.parametrize("part", PARTS)
def test_every_number_has_a_source(part: Part) -> None:
    unsourced = [name for name, _ in numbers(part) if part.source(name) is None]
    assert not unsourced
    assert all(math.isfinite(value) for _, value in numbers(part))


@pytest.mark.parametrize("part", PARTS)
def test_every_part_has_a_title_and_ascii_words(part: Part) -> None:
    assert part.title
    assert str(part).isascii()


def test_every_source_in_the_registry_is_used_by_some_part() -> None:
    text = files("netloom.parts").joinpath("data", "sources.toml").read_text("utf-8")
    defined = {entry["citation"]: key for key, entry in tomllib.loads(text).items()}
    used = {
        source.citation
        for kind in KINDS
        for part in CATALOG.parts(kind).values()
        for source in part.sources.values()
    }
    assert [key for citation, key in defined.items() if citation not in used] == []


def test_the_technologies_are_those_that_scenarios_name() -> None:
    assert set(CATALOG.technologies) == TECHNOLOGIES


@pytest.mark.parametrize("technology", CATALOG.technologies.values(), ids=lambda t: t.name)
def test_a_technology_says_the_same_features_as_all_others(technology: Technology) -> None:
    assert set(technology.operations) == FEATURES


@pytest.mark.parametrize("technology", CATALOG.technologies.values(), ids=lambda t: t.name)
def test_a_technology_fits_its_nic_and_switch(technology: Technology) -> None:
    nic = CATALOG.nics[technology.nic]
    switch = CATALOG.switches[technology.switch]
    assert nic.rate_bps >= technology.rate_bps
    assert switch.protocol == technology.protocol
    assert switch.radix(technology.rate_bps) >= 32
    spoken = {"ib-rc": "infiniband"}.get(technology.transport, technology.transport)
    assert spoken.removesuffix("-rc") in nic.protocols


@pytest.mark.parametrize("technology", CATALOG.technologies.values(), ids=lambda t: t.name)
def test_the_switch_has_a_price_power_and_latency(technology: Technology) -> None:
    switch = CATALOG.switches[technology.switch]
    assert switch.price_usd
    assert switch.power_w
    assert switch.latency_s


@pytest.mark.parametrize("part", CATALOG.switches.values(), ids=lambda s: s.name)
def test_no_way_to_split_a_switch_exceeds_its_capacity(part: Part) -> None:
    modes = CATALOG.switches[part.name].modes
    rates = [mode.rate_bps for mode in modes]
    capacities = {mode.count * mode.rate_bps for mode in modes}
    assert rates == sorted(rates, reverse=True)
    assert len(capacities) == 1


@pytest.mark.parametrize("part", CATALOG.scale_ups.values(), ids=lambda s: s.name)
def test_the_links_of_a_scale_up_network_add_up_to_its_rate(part: Part) -> None:
    network = CATALOG.scale_ups[part.name]
    assert network.num_links * network.link_rate_bps == pytest.approx(network.rate_bps)
    assert (network.num_switches > 0) == (network.kind in {"switched", "pcie-tree"})


def test_a_node_uses_more_power_than_its_gpus_alone() -> None:
    for node in CATALOG.nodes.values():
        gpus_w = node.num_gpus * CATALOG.gpus[node.gpu].power_w
        assert 1.1 * gpus_w < node.power_w < 2.1 * gpus_w, node.name


def small_message_s(technology: Technology, *, num_switches: int, fibre_m: float) -> float:
    budget = technology.latency
    all_s: list[float] = [getattr(budget, name) for name in type(budget).model_fields]
    ends_s = sum(all_s) - budget.switch_s
    return ends_s + num_switches * budget.switch_s + fibre_m * 5e-9


# Deployed clusters, three switches and 60 m of fibre: about 50 us for kernel TCP, 5 us for
# RoCEv2, 2 us for InfiniBand. The budget's rows sum to 46.3, 4.7 and 2.1 us.
@pytest.mark.parametrize(
    ("name", "expected_us"),
    [
        ("tcp-400g", 46.3),
        ("rocev2-400g", 4.7),
        ("infiniband-ndr", 2.09),
        ("iwarp-100g", 5.8),  # 3 to 7 us for RNIC-offloaded iWARP
        ("spectrum-x-400g", 4.2),
        ("uet-400g", 6.54),  # MRC on ConnectX-8 through three switches
        ("scheduled-400g", 11.0),  # half of Meta's 22 us round trip
    ],
)
def test_the_latency_budget_comes_to_what_is_seen(name: str, expected_us: float) -> None:
    got_s = small_message_s(CATALOG.technologies[name], num_switches=3, fibre_m=60)
    assert got_s * 1e6 == pytest.approx(expected_us, abs=0.01)


def test_the_uet_budget_reproduces_the_one_switch_measurement_too() -> None:
    # MRC notes: 5.09 us through one switch; 20 m of fibre assumed on that way.
    got_s = small_message_s(CATALOG.technologies["uet-400g"], num_switches=1, fibre_m=20)
    assert got_s * 1e6 == pytest.approx(5.09, abs=0.01)


# Payload over payload and headers, preamble and gap included.
@pytest.mark.parametrize(
    ("name", "percent"),
    [
        ("rocev2-400g", 98.04),  # 4096 / (4096 + 62 + 20)
        ("rocev1-100g", 97.76),  # 4096 / (4096 + 74 + 20)
        ("infiniband-ndr", 99.37),  # 4096 / (4096 + 26)
        ("uet-400g", 97.11),  # 4096 / (4096 + 102 + 20)
        ("tcp-400g", 99.00),  # 8948 / (9000 + 14 + 4 + 20)
        ("iwarp-100g", 97.99),  # 8856 / 9038: 72 of markers, 6 of MPA, 14 of DDP
    ],
)
def test_headers_cost_what_the_formats_say(name: str, percent: float) -> None:
    technology = CATALOG.technologies[name]
    wire_bytes = technology.payload_bytes + technology.header_bytes
    assert 100 * technology.payload_bytes / wire_bytes == pytest.approx(percent, abs=0.005)


def count_parameters(model: Model) -> float:
    """Count weights from the shape, apart from the biases."""
    h = model.hidden
    if model.kv_rank:
        wide = model.num_heads * (model.head_dim + model.rope_head_dim)
        query = model.query_rank * (h + wide) if model.query_rank else h * wide
        keys_values = model.num_heads * (model.head_dim + model.value_head_dim)
        compressed = h * (model.kv_rank + model.rope_head_dim) + model.kv_rank * keys_values
        attention = query + compressed + model.num_heads * model.value_head_dim * h
    else:
        attention = 2 * h * model.head_dim * (model.num_heads + model.num_kv_heads)
    matrices = 3 if model.gated else 2
    experts = model.num_experts + model.num_shared_experts
    sparse = matrices * h * model.expert_hidden * experts + h * model.num_experts
    after = (model.num_layers - model.first_dense_layers) // model.expert_interval
    num_sparse = after if model.num_experts else 0
    dense = matrices * h * model.ffn_hidden
    embeddings = model.vocabulary * h * (1 if model.tied_embeddings else 2)
    return (
        model.num_layers * (attention + 2 * h)
        + num_sparse * sparse
        + (model.num_layers - num_sparse) * dense
        + embeddings
        + model.learned_positions * h
    )


@pytest.mark.parametrize(
    "model",
    [m for m in CATALOG.models.values() if not (m.diffusion or m.linear)],
    ids=lambda m: m.name,
)
def test_a_shape_has_the_parameters_its_authors_publish(model: Model) -> None:
    # Diffusion models have blocks of their own: tests/unit/step/test_diffusion.py; hybrids theirs:
    # tests/unit/workload/test_hybrid_models.py.
    # Publications round: 1.7B (SC 2021) is 1.65 by the same paper's formula, K2's 1.04T is 1.026.
    loose = {
        "megatron-1.7b": 0.03,
        "megatron-3.6b": 0.012,
        "kimi-k2": 0.015,
        "grok-1": 0.006,
    }
    tolerance = loose.get(model.name, 0.005)
    assert count_parameters(model) == pytest.approx(model.parameters, rel=tolerance)


def test_the_cables_of_1024_gpus_cost_what_the_price_sheet_says() -> None:
    # Two tiers of 64-port switches: 2 x 1,024 fibres, 48 x 32 switch and 128 x 4 node modules.
    fibre = CATALOG.cables["mpo-om4"]
    module = CATALOG.transceivers["osfp-2x400g-sr4"]
    fibre_usd = fibre.price_usd + 30 * fibre.price_usd_per_m
    assert 2048 * fibre_usd + (1536 + 512) * module.price_usd == 2_621_440
    # Not fitted: 32,768 GPUs on three tiers, 98,304 fibres and as many modules, 124.5 million.
    assert 98_304 * (fibre_usd + module.price_usd) == pytest.approx(124_518_400, rel=0.02)


def test_the_switches_of_the_price_sheet_cost_what_it_says() -> None:
    # 48 switches for 1,024 GPUs, 1,687.50 USD each; 2,560 for 32,768, 92.16 million in all.
    price_usd = CATALOG.switches["QM9700"].price_usd
    assert price_usd is not None
    assert 48 * price_usd / 1024 == 1687.5
    assert 2560 * price_usd == 92_160_000


@pytest.mark.parametrize("rate_gbps", [100, 200, 400, 800])
def test_some_cable_and_optics_exist_for_every_rate_up_to_10_km(rate_gbps: int) -> None:
    rate_bps = rate_gbps * 1e9
    reaches = [t.reach_m for t in CATALOG.transceivers.values() if t.rate_bps == rate_bps]
    assert {50.0, 100.0} & set(reaches)
    assert {500.0, 2000.0, 10_000.0} <= set(reaches)
    copper = [c for c in CATALOG.cables.values() if c.medium == "dac" and rate_bps in c.rates]
    assert len(copper) == 1


def test_only_gpus_that_scale_blocks_have_mxfp8() -> None:
    # Transformer Engine's MXFP8BlockScaling asks for compute capability 10.0; CDNA 4 has OCP MX.
    able = {gpu.name for gpu in CATALOG.gpus.values() if gpu.peak.at("mxfp8")}
    assert able == {"B200-SXM", "B300-SXM", "GB200", "GB300", "Rubin", "MI355X"}
    assert CATALOG.gpus["H100-SXM-80GB"].peak.precisions() == "bf16, fp16, fp8"
    assert CATALOG.gpus["GB300"].peak.at("nvfp4") == 15e15
