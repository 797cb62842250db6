"""How often the parts of a job break, by whose record.

``llama-3``: Llama 3 405B on 16,384 H100 over 54 days had 419 unexpected interruptions
(arXiv:2407.21783, table 5). The counts add up to 419; the shares that the paper prints beside
them do not follow from the counts, so only the counts are used. ``meta-rsc-1``, ``meta-rsc-2``:
Meta's research clusters, by node and day, whatever broke. ``alibaba-hpn``: Llama 3's GPUs, hosts
and NICs with the link and leaf rates of Alibaba's HPN.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from netloom.provenance import Source, Why

if TYPE_CHECKING:
    from netloom.fabric.design import Design
    from netloom.spec.scenario import FailureRecord

__all__ = ["FailureRate", "interruption_rates", "mean_time_between_s", "rate_why"]

_DAY_S: Final = 86_400.0
_DAYS: Final = 54
_GPUS: Final = 16_384
_NODES: Final = _GPUS // 8
_MONTH_DAYS: Final = 365.25 / 12

LLAMA_3: Final = Source(
    citation="Llama 3 herd of models, arXiv:2407.21783, section 3.3.4, table 5",
    confidence="published",
)
META: Final = Source(
    citation="Revisiting reliability in large-scale machine learning research clusters, "
    "arXiv:2410.21680: failures per 1,000 node-days",
    confidence="published",
)
HPN: Final = Source(
    citation="Alibaba HPN (SIGCOMM 2024), section 2: share of NIC links and of leaf switches that "
    "fail in a month",
    confidence="published",
)
_META_PER_1000_NODE_DAYS: Final = {"meta-rsc-1": 6.5, "meta-rsc-2": 2.34}
_HPN_LINKS_PER_MONTH: Final = 0.00057
_HPN_LEAVES_PER_MONTH: Final = 0.00051


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureRate:
    """Interruptions of a job that one kind of part causes.

    Attributes:
        part: What breaks.
        observed: Interruptions on record.
        part_days: Over how many days of one part.
        count: How many of the part this cluster has.
        source: Whose record.
    """

    part: str
    observed: float
    part_days: float
    count: int
    source: Source

    @property
    def per_part_per_s(self) -> float:
        """Of one part."""
        return self.observed / (self.part_days * _DAY_S)

    @property
    def per_s(self) -> float:
        """Of all of them."""
        return self.count * self.per_part_per_s


def interruption_rates(
    design: Design, *, num_hosts: int, record: FailureRecord = "llama-3"
) -> tuple[FailureRate, ...]:
    """Return the interruption rate of each kind of part in a cluster of *design*.

    A NIC whose link is split over planes outlives the loss of one of them, and of a leaf.

    Args:
        design: How many of each part there are.
        num_hosts: Computers in one node: 1, or more in a rack that is one scale-up domain.
        record: Whose rates.
    """
    if record in _META_PER_1000_NODE_DAYS:
        return (_meta(_META_PER_1000_NODE_DAYS[record], design.num_nodes * num_hosts),)
    machines = _llama_3_machines(design, num_hosts)
    single = design.num_planes == 1
    links = design.num_ports if single else 0
    if record == "llama-3":
        return (*machines, _llama_3("NIC link", 35, _GPUS, links))
    leaves = design.tiers[0].num_switches if single and design.tiers else 0
    return (
        *machines,
        _hpn("NIC link", _HPN_LINKS_PER_MONTH, links),
        _hpn("leaf", _HPN_LEAVES_PER_MONTH, leaves),
    )


def _llama_3_machines(design: Design, num_hosts: int) -> tuple[FailureRate, ...]:
    """Return the rates of all but the network.

    The sums behind them. GPU: faulty GPU 148, HBM3 72, SRAM 19, system processor 17, silent
    corruption 6, thermal 6. Host and software: software 54, host maintenance 32, SSD 3, PSU 3,
    chassis 2, IO board 2, dependency 2, CPU 2, DRAM 2, NCCL watchdog 7. NIC 7. Switch or cable,
    35, is laid on the NIC's own link, since a lost link higher up is routed around.
    """
    nics = design.num_ports // design.num_planes
    return (
        _llama_3("GPU", 268, _GPUS, design.num_gpus),
        _llama_3("host", 109, _NODES, design.num_nodes * num_hosts),
        _llama_3("NIC", 7, _GPUS, nics),
    )


def _llama_3(part: str, observed: int, population: int, count: int) -> FailureRate:
    days = float(population * _DAYS)
    return FailureRate(part=part, observed=observed, part_days=days, count=count, source=LLAMA_3)


def _meta(per_1000_node_days: float, count: int) -> FailureRate:
    return FailureRate(
        part="node", observed=per_1000_node_days, part_days=1000.0, count=count, source=META
    )


def _hpn(part: str, per_month: float, count: int) -> FailureRate:
    return FailureRate(
        part=part, observed=per_month, part_days=_MONTH_DAYS, count=count, source=HPN
    )


def mean_time_between_s(rates: tuple[FailureRate, ...]) -> float:
    """Return the mean time between interruptions of a job that any of *rates* stops."""
    return 1 / sum(rate.per_s for rate in rates)


def rate_why(rate: FailureRate) -> Why:
    """Return where the rate of one kind of part comes from."""
    return Why(
        name=f"interruptions by {rate.part}",
        value=rate.per_s * _DAY_S,
        unit="/d",
        how=f"{rate.count:,} parts x {rate.observed:g} interruptions / {rate.part_days:,.5g} "
        "days of one part",
        source=rate.source,
    )
