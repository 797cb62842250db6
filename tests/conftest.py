"""Parts and a plain engine that tests of several layers share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from netloom.catalog.parts import Gpu, LatencyBudget, Nic, Node, ScaleUp, Switch, Technology
from netloom.engines.base import Outcome, bus_factor
from netloom.fabric.design import Design
from netloom.fabric.network import Network
from netloom.provenance import Validity, Why
from netloom.spec.topology import RailFatTree

if TYPE_CHECKING:
    from collections.abc import Callable

    from netloom.workload.collective import Collective

GPUS = {
    "A100": {
        "architecture": "Ampere",
        "peak": {"bf16": "312TFLOPS", "fp16": "312TFLOPS"},
        "matmul_flops": "271.2TFLOPS",
        "memory": "80GB",
        "memory_rate": "2.039TB/s",
        "power": "400W",
    },
    "H100": {
        "architecture": "Hopper",
        "peak": {"bf16": "989TFLOPS", "fp16": "989TFLOPS", "fp8": "1979TFLOPS"},
        "matmul_flops": "794.5TFLOPS",
        "memory": "80GB",
        "memory_rate": "3.35TB/s",
        "power": "700W",
    },
}
# NVLink 3 and 4 one way; what NCCL's all-reduce reaches of it on a whole node (235 of 300 and
# 370 of 450 GB/s busbw) is what a plain alpha-beta engine should use.
SCALE_UP = {"A100": ("300GB/s", 235e9), "H100": ("450GB/s", 370e9)}


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
            "header": "0B",
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
            "rate": SCALE_UP[gpu][0],
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
