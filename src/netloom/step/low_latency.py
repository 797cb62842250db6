"""DeepEP's exchange of a decode step: kernels for little delay, a message to each expert.

A start and the bytes that leave the node at nearly the NIC's rate, or those that leave the GPU at
nearly the scale-up's where the group is in one node. Both numbers are from DeepEP's own table
(docs/legacy.md, low-latency kernels: 128 tokens of 7,168 values, 8 experts each, H800, 8 to 256
GPUs; tests/unit/step/test_service.py has it): start and share are those of 16 to 64 GPUs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from netloom.engines.base import Outcome
from netloom.provenance import Source, Validity, Why

if TYPE_CHECKING:
    from netloom.fabric.network import Network
    from netloom.workload.collective import Collective

__all__ = ["low_latency_exchange"]

START_S: Final = 30e-6
RATE_SHARE: Final = 0.9
SOURCE: Final = Source(
    citation="deepseek-ai/DeepEP docs/legacy.md, low-latency kernels", confidence="derived"
)


def low_latency_exchange(collective: Collective, network: Network) -> Outcome:
    """Return how long the exchange takes on *network*."""
    group = collective.group
    if group.num_nodes > 1:
        node = network.node
        each = min(1.0, node.num_nics / node.num_gpus)
        away, rate_bps = 1 - 1 / group.num_nodes, each * network.nic_rate_bps
    else:
        away, rate_bps = 1 - 1 / group.size, network.scale_up.rate_bps
    moved_s = collective.skew * away * collective.size_bytes * 8 / (RATE_SHARE * rate_bps)
    return Outcome(
        engine="deepep",
        collective=collective,
        duration_s=START_S + moved_s,
        algorithm="direct",
        protocol="",
        validity=Validity(
            ("DeepEP's low-latency exchange is from its own table for H800 with 400 Gb/s NICs.",)
        ),
        why=Why(
            name="low-latency exchange",
            value=START_S + moved_s,
            unit="s",
            how="a start, and what leaves the node or the GPU at 90 % of its rate",
            source=SOURCE,
            parts=(
                Why(name="start", value=START_S, unit="s"),
                Why(name="bytes", value=moved_s, unit="s"),
            ),
        ),
    )
