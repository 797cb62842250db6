"""What is commonly said of these networks, from the model and not typed in."""

from __future__ import annotations

import pytest

import netloom as nl
from netloom.fabric.wire.latency import one_way_s
from netloom.parts.load import load_catalog
from netloom.spec.load import parse

pytestmark = pytest.mark.validation


def latency_us(technology: str) -> float:
    """Return a small message's latency over three switches and 60 m of cable."""
    part = load_catalog().technology(technology)
    seconds = one_way_s(part, num_hops=3, cable_m=60.0, message_bytes=256.0, rate_bps=part.rate_bps)
    return seconds * 1e6


@pytest.mark.parametrize(
    ("technology", "said_us"), [("tcp-400g", 50), ("rocev2-400g", 5), ("infiniband-ndr", 2)]
)
def test_latency_is_about_50_5_and_2_microseconds(technology: str, said_us: float) -> None:
    assert latency_us(technology) == pytest.approx(said_us, rel=0.1)


@pytest.fixture(scope="module")
def at_ten_thousand() -> nl.Comparison:
    """Llama 3.1 405B on 10,240 H100: 80 replicas of 128 GPUs, 16 sequences each."""
    scenario = nl.example()
    job = scenario.job
    training = job.trained.model_copy(update={"global_batch": 1280})
    parallel = job.parallel.model_copy(update={"data": None})
    return nl.compare(
        scenario.model_copy(
            update={
                "cluster": scenario.cluster.model_copy(update={"nodes": 1280}),
                "job": job.model_copy(update={"training": training, "parallel": parallel}),
                "compare": ("infiniband-ndr", "spectrum-x-400g", "rocev2-400g", "tcp-400g"),
            }
        )
    )


def test_infiniband_is_ahead_of_hashed_roce_at_ten_thousand_cards(
    at_ten_thousand: nl.Comparison,
) -> None:
    infiniband = at_ten_thousand.contender("infiniband-ndr")
    roce = at_ten_thousand.contender("rocev2-400g")
    assert roce.step.duration_s > 1.01 * infiniband.step.duration_s
    assert roce.step.communication_share > infiniband.step.communication_share


def test_roce_is_cheaper_to_build(at_ten_thousand: nl.Comparison) -> None:
    infiniband = at_ten_thousand.contender("infiniband-ndr")
    roce = at_ten_thousand.contender("rocev2-400g")
    assert roce.network_capex_usd < 0.95 * infiniband.network_capex_usd


def test_adaptive_routing_closes_most_of_the_gap(at_ten_thousand: nl.Comparison) -> None:
    infiniband, adaptive, hashed = (
        at_ten_thousand.contender(name).step.duration_s
        for name in ("infiniband-ndr", "spectrum-x-400g", "rocev2-400g")
    )
    assert adaptive - infiniband < 0.5 * (hashed - infiniband)


def test_tcp_is_behind_all_of_them(at_ten_thousand: nl.Comparison) -> None:
    roce = at_ten_thousand.contender("rocev2-400g")
    tcp = at_ten_thousand.contender("tcp-400g")
    assert tcp.step.duration_s > 1.05 * roce.step.duration_s


GPT_3 = """
cluster: {nodes: 128, node: dgx-a100, fabric: {technology: infiniband-hdr}}
job:
  model: gpt-3-175b
  training: {sequence: 2048, global_batch: 1536, recompute: selective}
  parallel: {tensor: 8, pipeline: 8}
"""
KIMI_K2 = """
cluster: {nodes: 256, node: dgx-h100, fabric: {technology: infiniband-ndr}}
job:
  model: kimi-k2
  training: {sequence: 4096, global_batch: 15360, recompute: full}
  parallel: {pipeline: 16, expert: 64}
"""


def test_communication_is_about_a_fifth_for_a_100b_class_model() -> None:
    """GPT-3 175B on 1,024 A100 over 200 Gb/s InfiniBand, tensor 8 inside nodes, pipeline 8."""
    step = nl.predict(parse(GPT_3, name="gpt-3")).step
    assert 0.15 <= step.communication_share <= 0.25


def test_communication_is_about_half_for_a_trillion_parameter_model() -> None:
    """Kimi K2 (1T, 384 experts) on 2,048 H100 over 400 Gb/s, experts over eight nodes.

    DeepSeek-V3, a smaller model of the same kind, reports computation to communication of about
    1 to 1 (arXiv:2412.19437, section 3.2.1) before overlap.
    """
    step = nl.predict(parse(KIMI_K2, name="kimi-k2")).step
    assert 0.40 <= step.communication_share <= 0.60
