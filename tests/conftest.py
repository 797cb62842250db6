"""Parts and a plain engine that tests of several layers share."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from netloom.engines.base import Outcome, bus_factor
from netloom.fabric.design import Design
from netloom.fabric.network import Network
from netloom.fabric.topologies.rail_fat_tree import RailFatTree
from netloom.parts.parts import (
    Gpu,
    LatencyBudget,
    Model,
    Nic,
    Node,
    ScaleUp,
    Switch,
    Technology,
)
from netloom.provenance import Validity, Why

if TYPE_CHECKING:
    from collections.abc import Callable

    from netloom.workload.collective import Collective

# Tests assert behaviour; a busy machine is no failure. CI tries the same examples every time,
# everybody else new ones.
settings.register_profile("netloom", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("netloom")

# A shell's background jobs ignore Ctrl-C, and so would what tests start in order to interrupt it.
signal.signal(signal.SIGINT, signal.default_int_handler)


GPUS = {
    "A100": {
        "architecture": "Ampere",
        "peak": {"bf16": "312TFLOPS", "fp16": "312TFLOPS"},
        "matmul_flops": "271.2TFLOPS",
        "memory": "80GiB",
        "memory_rate": "2.039TB/s",
        "power": "400W",
    },
    "H100": {
        "architecture": "Hopper",
        "peak": {"bf16": "989TFLOPS", "fp16": "989TFLOPS", "fp8": "1979TFLOPS"},
        "matmul_flops": "794.5TFLOPS",
        "memory": "80GiB",
        "memory_rate": "3.35TB/s",
        "power": "700W",
    },
}
GPT = {"gated": False, "biases": True, "tied_embeddings": True}
# Shapes as the models' papers and configuration files give them.
MODELS: dict[str, dict[str, object]] = {
    "gpt-3-175b": GPT
    | {
        "num_layers": 96,
        "hidden": 12288,
        "num_heads": 96,
        "ffn_hidden": 49152,
        "vocabulary": 50257,
        "learned_positions": 2048,
    },
    "gpt-22b": GPT
    | {
        "num_layers": 48,
        "hidden": 6144,
        "num_heads": 64,
        "ffn_hidden": 24576,
        "vocabulary": 51200,
        "learned_positions": 2048,
    },
    "llama-3.1-405b": {
        "num_layers": 126,
        "hidden": 16384,
        "num_heads": 128,
        "num_kv_heads": 8,
        "ffn_hidden": 53248,
        "vocabulary": 128256,
    },
    "llama-2-70b": {
        "num_layers": 80,
        "hidden": 8192,
        "num_heads": 64,
        "num_kv_heads": 8,
        "ffn_hidden": 28672,
        "vocabulary": 32000,
    },
    "llama-3.1-8b": {
        "num_layers": 32,
        "hidden": 4096,
        "num_heads": 32,
        "num_kv_heads": 8,
        "ffn_hidden": 14336,
        "vocabulary": 128256,
    },
    "mixtral-8x7b": {
        "num_layers": 32,
        "hidden": 4096,
        "num_heads": 32,
        "num_kv_heads": 8,
        "ffn_hidden": 14336,
        "vocabulary": 32000,
        "num_experts": 8,
        "experts_per_token": 2,
        "expert_hidden": 14336,
    },
    "deepseek-v3": {
        "num_layers": 61,
        "hidden": 7168,
        "num_heads": 128,
        "head_dim": 128,
        "ffn_hidden": 18432,
        "vocabulary": 129280,
        "num_experts": 256,
        "experts_per_token": 8,
        "expert_hidden": 2048,
        "num_shared_experts": 1,
        "first_dense_layers": 3,
        "query_rank": 1536,
        "kv_rank": 512,
        "rope_head_dim": 64,
        "value_head_dim": 128,
    },
    "qwen3-30b-a3b": {
        "num_layers": 48,
        "hidden": 2048,
        "num_heads": 32,
        "num_kv_heads": 4,
        "head_dim": 128,
        "ffn_hidden": 6144,
        "vocabulary": 151936,
        "num_experts": 128,
        "experts_per_token": 8,
        "expert_hidden": 768,
    },
}
SCALE_UP_RATE = {"A100": "300GB/s", "H100": "450GB/s"}  # NVLink 3 and 4, one way


@dataclass(frozen=True)
class AlphaBetaEngine:
    """Start-up time plus bus bytes over one rate inside a node and another between nodes."""

    alpha_s: float = 10e-6
    inside_bytes_per_s: float = 370e9
    between_bytes_per_s: float = 45e9
    name: str = "alpha-beta"

    def run(self, collective: Collective, network: Network) -> Outcome:
        inside = collective.group.num_nodes == 1
        rate = self.inside_bytes_per_s if inside else self.between_bytes_per_s
        if not inside and collective.kind.value in {"all_reduce", "all_gather", "reduce_scatter"}:
            rate *= collective.group.per_node  # a ring through the node uses all members' NICs
        moved = bus_factor(collective) * collective.size_bytes * collective.skew
        duration_s = self.alpha_s + moved / rate
        return Outcome(
            engine=self.name,
            collective=collective,
            duration_s=duration_s,
            algorithm="ring",
            protocol="",
            validity=Validity(),
            why=Why(name="alpha-beta", value=duration_s, unit="s"),
        )


def make_model(name: str, **changes: object) -> Model:
    """Return a model of ``MODELS`` with some of its fields changed."""
    shape = MODELS[name] | changes
    heads, hidden = shape["num_heads"], shape["hidden"]
    assert isinstance(heads, int)
    assert isinstance(hidden, int)
    filled = {"num_kv_heads": heads, "head_dim": hidden // heads, "parameters": 1.0} | shape
    return Model.model_validate({"name": name} | filled)


def make_gpu(name: str) -> Gpu:
    return Gpu.model_validate({"name": name, "vendor": "nvidia", **GPUS[name]})


def make_network(gpu: str, num_gpus: int, gpus_per_node: int = 8) -> Network:
    """Return a one-tier network that no engine of these tests looks into."""
    zero = dict.fromkeys(
        [
            "post",
            "send_stack",
            "doorbell",
            "nic_send",
            "switch",
            "nic_receive",
            "interrupt",
            "receive_stack",
            "wake",
        ],
        "0us",
    )
    technology = Technology.model_validate(
        {
            "name": "plain",
            "family": "plain",
            "protocol": "infiniband",
            "transport": "ib-rc",
            "rate": "400Gbps",
            "nic": "plain",
            "switch": "plain",
            "flow_control": "credits",
            "congestion_control": "none",
            "recovery": "go-back-n",
            "load_balancing": "static",
            "path_efficiency": "100%",
            "flows_per_rank": 1,
            "payload": "4096B",
            "header": "1B",
            "loss": "0%",
            "latency": LatencyBudget.model_validate(zero),
            "status": "shipping",
        }
    )
    switch = Switch.model_validate(
        {
            "name": "plain",
            "vendor": "none",
            "asic": "none",
            "protocol": "infiniband",
            "modes": ({"count": 64, "rate": "400Gbps"},),
        }
    )
    node = Node.model_validate(
        {
            "name": "plain",
            "gpu": gpu,
            "num_gpus": gpus_per_node,
            "scale_up": "plain",
            "nic": "plain",
            "num_nics": gpus_per_node,
            "host_rate": "400Gbps",
            "power": "10kW",
        }
    )
    scale_up = ScaleUp.model_validate(
        {
            "name": "plain",
            "kind": "switched",
            "generation": "plain",
            "rate": SCALE_UP_RATE[gpu],
            "link_rate": "25GB/s",
            "num_links": 12,
            "latency": "1us",
        }
    )
    nic = Nic.model_validate(
        {"name": "plain", "vendor": "none", "protocols": ("infiniband",), "rate": "400Gbps"}
    )
    design = Design(
        topology=RailFatTree(),
        num_nodes=max(1, num_gpus // gpus_per_node),
        num_gpus=num_gpus,
        num_rails=gpus_per_node,
        num_planes=1,
        num_ports=num_gpus,
        port_rate_bps=400e9,
        switch=switch,
        radix=64,
        tiers=(),
        stages=(),
        reaches=(),
    )
    return Network(
        technology=technology,
        design=design,
        node=node,
        gpu=make_gpu(gpu),
        nic=nic,
        scale_up=scale_up,
        loss=0.0,
    )


@pytest.fixture(scope="session")
def network_of() -> Callable[..., Network]:
    """Return a network of a kind of GPU and their number."""
    return make_network


@pytest.fixture(scope="session")
def gpu_of() -> Callable[[str], Gpu]:
    """Return a GPU by name."""
    return make_gpu


@pytest.fixture(scope="session")
def alpha_beta() -> Callable[..., AlphaBetaEngine]:
    """Return the class of plain engines."""
    return AlphaBetaEngine


@pytest.fixture(scope="session")
def model_of() -> Callable[..., Model]:
    """Return a model by name, with changes."""
    return make_model
