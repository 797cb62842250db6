"""Published figures that a formula or a sizing rule answers."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from netloom.engines.analytic.engine import AnalyticEngine
from netloom.fabric.contention import hashed_slowdown
from netloom.fabric.size import design
from netloom.fabric.wire.headroom import textbook_bytes
from netloom.fabric.wire.latency import PROPAGATION_S_PER_M
from netloom.fabric.wire.link_retry import retry_s
from netloom.spec.example import example
from netloom.spec.topology import TOPOLOGIES
from netloom.study.compare.chips.design import base_design
from netloom.study.compare.chips.entry import CHIPS
from netloom.study.compare.chips.evaluate import on_job
from netloom.study.networks import network_of, used_part
from netloom.study.size.request import SizingRequest
from netloom.study.size.sizing import size
from netloom.validation.chips.row import in_band
from netloom.workload.collective import Collective, CollectiveKind, Group

if TYPE_CHECKING:
    from collections.abc import Iterator

    from netloom.parts.load import Catalog
    from netloom.validation.chips.row import ChipRow

__all__ = ["closed_chip_rows"]

_LINK_M: Final = 100.0
_RATE_BPS: Final = 400e9
_PACKET_BYTES: Final = 4178


def closed_chip_rows(catalog: Catalog) -> Iterator[ChipRow]:
    """Yield every row that needs no packets."""
    yield in_band(
        "ecmp-imbalance",
        "1,000 flows hashed over 16 links: fullest over mean",
        1.2,
        (1.2, 1.25),
        hashed_slowdown(num_flows=1000, num_links=16, num_switches=1, flow_share=16 / 1000),
        kind="closed",
        unit="x",
        tag="S2",
        direction=1.0,
        source="Gangidi et al. (Meta), SIGCOMM 2024, by accounts of it: more than 1.2",
    )
    yield from _links()
    yield from _sizes(catalog)
    yield from _costs(catalog)
    yield _reduction(catalog)


def _links() -> Iterator[ChipRow]:
    rtt_s = 2 * _LINK_M * PROPAGATION_S_PER_M
    yield in_band(
        "llr-retry",
        "time that a link takes to repeat a packet, 100 m at 400 Gb/s",
        1e-6,
        (0.5e-6, 2e-6),
        retry_s(rate_bps=_RATE_BPS, link_rtt_s=rtt_s, packet_bytes=_PACKET_BYTES),
        kind="closed",
        unit="s",
        tag="S2",
        reason="the source says about a link's round trip, 1 us",
        source="Ultra Ethernet 1.0, by an account of arXiv:2508.08906, section 3.5.1",
    )
    credits_bytes = rtt_s * _RATE_BPS / 8 + 2 * _PACKET_BYTES
    pauses_bytes = textbook_bytes(rate_bps=_RATE_BPS, length_m=_LINK_M)
    yield in_band(
        "cbfc-buffer",
        "buffer that credits need over the headroom of pauses, 100 m at 400 Gb/s",
        None,
        (None, None),
        credits_bytes / pauses_bytes,
        kind="closed",
        unit="x",
        tag="S2",
        direction=1.0,
        sign=-1,
        reason="the source says less headroom, and no size",
        source="Ultra Ethernet 1.0, by an account of arXiv:2508.08906, section 3.5.1",
    )


def _sizes(catalog: Catalog) -> Iterator[ChipRow]:
    host = used_part(catalog.node("dgx-h100"), 1)
    tree = TOPOLOGIES.get("fat-tree").spec
    wide = catalog.switch("Tomahawk-6")
    two = design(
        topology=tree.model_validate({}),
        num_nodes=131_072,
        node=host,
        switch=wide,
        nic_rate_bps=200e9,
    )
    yield in_band(
        "radix-512-tiers",
        "switches of a plane of 131,072 ports, 512 x 200G, two tiers",
        768,
        (768, 768),
        sum(tier.num_switches for tier in two.tiers),
        kind="closed",
        tag="S2",
        source="MRC (OCP 2026), by notes: 131,072 hosts on two tiers of 512-port switches",
    )
    narrow = catalog.switch("QM9700")
    three = design(
        topology=tree.model_validate({}),
        num_nodes=65_536,
        node=host,
        switch=narrow,
        nic_rate_bps=400e9,
    )
    yield in_band(
        "radix-64-tiers",
        "switches of 65,536 ports, 64-port switches, three tiers",
        5120,
        (5120, 5120),
        sum(tier.num_switches for tier in three.tiers),
        kind="closed",
        tag="S2",
        source="MRC (OCP 2026), by notes: the three-tier example",
    )


def _costs(catalog: Catalog) -> Iterator[ChipRow]:
    def capex(kind: str) -> float:
        topology = TOPOLOGIES.get(kind).spec.model_validate({})
        asked = SizingRequest(num_gpus=16_384, technology="infiniband-ndr", topology=topology)
        return size(asked, catalog).bill.capex_usd

    yield in_band(
        "rail-only-saving",
        "network cost that rail-only saves of a rail-optimised fat tree, 16,384 GPUs",
        None,
        (0.38, 0.77),
        1 - capex("rail-only") / capex("rail-fat-tree"),
        kind="closed",
        tag="S2",
        direction=0.0,
        gap="two tiers in place of three save a third of cables, optics and switches; what joins "
        "hosts to leaves stays, and is dearer here than in the source",
        reason="rails of 64-port NDR switches",
        source="Wang et al. (MIT, Meta), rail-only, by accounts of it: 38 to 77 %",
    )
    deep, plain = (_network_usd(name, catalog) for name in ("deep-buffers", "roce-ecmp"))
    yield in_band(
        "deep-buffer-premium",
        "network cost of deep-buffer switches over shallow ones, less 1",
        0.30,
        (0.15, 0.45),
        deep / plain - 1,
        kind="closed",
        tag="S2",
        direction=0.0,
        reason="16,384 GPUs; boxes everywhere where the source has frames as spines; within half",
        source="Meta on frame-based spines, besthub.dev: about 30 % of network cost",
    )


def _network_usd(name: str, catalog: Catalog) -> float:
    from netloom.study.compare.evaluate import evaluate  # noqa: PLC0415  (asks for the step too)

    chip = CHIPS.get(name)
    job = on_job(
        chip.design(base_design(chip.family, example(), catalog), catalog), example(), catalog
    )
    technology = job.scenario.cluster.fabric.technology
    return evaluate(job.scenario, job.catalog, technology=technology).network_capex_usd


def _reduction(catalog: Catalog) -> ChipRow:
    network = network_of(example().cluster, catalog)
    asked = Collective(
        kind=CollectiveKind.ALL_REDUCE,
        size_bytes=float(1 << 30),
        group=Group(size=1024, per_node=8),
    )
    engine = AnalyticEngine()
    ring = engine.run(asked, replace(network, in_network_reduction=False)).duration_s
    summed = engine.run(asked, replace(network, in_network_reduction=True)).duration_s
    return in_band(
        "in-network-reduction",
        "all-reduce of 1 GiB by rings over switches that add up, 1,024 GPUs",
        None,
        (None, 2.0),
        ring / summed,
        kind="closed",
        unit="x",
        tag="S",
        direction=1.0,
        reason="at most twice by the bytes; the library chooses the faster",
        source="nccl-tests PERFORMANCE.md @03a204a: factor of in-network all-reduce; at most 2",
    )
