"""How often the parts of a job break.

The rates are those of one published run: Llama 3 405B on 16,384 H100 over 54 days had 419
unexpected interruptions (arXiv:2407.21783, table 5). The counts add up to 419; the shares that
the paper prints beside them do not follow from the counts, so only the counts are used.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from netloom.provenance import Source, Why

if TYPE_CHECKING:
    from netloom.fabric.design import Design

__all__ = ["FailureRate", "interruption_rates", "mean_time_between_s", "rate_why"]

_SECONDS = 54 * 86_400.0
_GPUS = 16_384
_NODES = _GPUS // 8

LLAMA_3 = Source(
    citation="Llama 3 herd of models, arXiv:2407.21783, section 3.3.4, table 5",
    confidence="published",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureRate:
    """Interruptions of a job that one kind of part causes.

    Attributes:
        part: What breaks.
        observed: Interruptions in the published run.
        population: How many of the part that run had.
        count: How many this cluster has.
    """

    part: str
    observed: int
    population: int
    count: int

    @property
    def per_part_per_s(self) -> float:
        """Of one part."""
        return self.observed / (self.population * _SECONDS)

    @property
    def per_s(self) -> float:
        """Of all of them."""
        return self.count * self.per_part_per_s


def interruption_rates(design: Design, *, num_hosts: int) -> tuple[FailureRate, ...]:
    """Return the interruption rate of each kind of part in a cluster of *design*.

    Args:
        design: How many of each part there are.
        num_hosts: Computers in one node: 1, or more in a rack that is one scale-up domain.

    The sums behind the rates, by what breaks.
    GPU: faulty GPU 148, HBM3 72, SRAM 19, system processor 17, silent corruption 6, thermal 6.
    Host and software: software 54, host maintenance 32, SSD 3, PSU 3, chassis 2, IO board 2,
    dependency 2, CPU 2, DRAM 2, NCCL watchdog 7. Network: switch or cable 35, NIC 7; laid on
    the NIC's own link, since a lost link higher up is routed around. A NIC whose link is
    split over planes outlives the loss of one of them.
    """
    nics = design.num_ports // design.num_planes
    links = 0 if design.num_planes > 1 else nics
    return (
        FailureRate(part="GPU", observed=268, population=_GPUS, count=design.num_gpus),
        FailureRate(
            part="host", observed=109, population=_NODES, count=design.num_nodes * num_hosts
        ),
        FailureRate(part="NIC", observed=7, population=_GPUS, count=nics),
        FailureRate(part="NIC link", observed=35, population=_GPUS, count=links),
    )


def mean_time_between_s(rates: tuple[FailureRate, ...]) -> float:
    """Return the mean time between interruptions of a job that any of *rates* stops."""
    return 1 / sum(rate.per_s for rate in rates)


def rate_why(rate: FailureRate) -> Why:
    """Return where the rate of one kind of part comes from."""
    return Why(
        name=f"interruptions by {rate.part}",
        value=rate.per_s * 86_400,
        unit="/d",
        how=(
            f"{rate.count:,} parts x {rate.observed} interruptions / "
            f"({rate.population:,} parts x 54 days)"
        ),
        source=LLAMA_3,
    )
