"""Goodput as text: what is kept, what is lost to what, and what would help."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich.console import Group
from rich.table import Table
from rich.text import Text

from netloom.units import TIME, format_count, format_quantity

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import RenderableType

    from netloom.fabric.fault_domains import FaultDomain
    from netloom.study.goodput.model import Goodput
    from netloom.study.goodput.uptime import Uptime

__all__ = [
    "DOMAINS",
    "IMPROVEMENTS",
    "RATES",
    "assumed",
    "domain_rows",
    "goodput_text",
    "headline",
    "improvement_rows",
    "rate_rows",
    "spares",
    "title",
]

RATES: Final = ("what interrupts", "parts", "a day", "one part every")
DOMAINS: Final = ("loss of one", "of", "stops", "costs")
IMPROVEMENTS: Final = ("what would help", "goodput", "gain", "as good as")


def goodput_text(found: Uptime) -> RenderableType:
    """Return what ``netloom goodput`` prints."""
    kept = found.goodput
    parts: list[RenderableType] = [
        Text(title(found), style="bold"),
        Text(assumed(kept), style="dim"),
        Text(headline(kept), style="green"),
        Text(spares(kept)),
        "",
        _table(RATES, rate_rows(kept)),
        "",
        _table(DOMAINS, domain_rows(found.domains)),
        "",
        _table(IMPROVEMENTS, improvement_rows(found)),
    ]
    parts += [Text(f"- {doubt}", style="dim") for doubt in kept.validity.doubts]
    return Group(*parts)


def title(found: Uptime) -> str:
    """Return which job on which network."""
    design, technology = found.network.design, found.network.technology
    return (
        f"{found.scenario.job.model} on {format_count(design.num_gpus, 'GPU')}, {technology.name}"
    )


def assumed(kept: Goodput) -> str:
    """Return what was taken for granted."""
    return (
        f"failures as on record for {kept.reliability.record}; checkpoint write "
        f"{_time(kept.reliability.checkpoint_write_s)}, restart {_time(kept.reliability.restart_s)}"
        f", repair {_time(kept.reliability.repair_s)}"
    )


def headline(kept: Goodput) -> str:
    """Return the answer in one sentence."""
    lost = ", ".join(f"{what} {share:.1%}" for what, share in kept.losses().items() if share)
    return (
        f"{kept.share:.1%} of the time ends up in the model; interrupted every "
        f"{_time(kept.mean_time_between_s)}, a checkpoint every {_time(kept.interval_s)} "
        f"is best; lost: {lost}"
    )


def spares(kept: Goodput) -> str:
    """Return how many spare nodes it takes."""
    given = kept.reliability.spares
    have = "" if given is None else f"; the scenario has {given:,}"
    return (
        f"{kept.nodes_away:.1f} nodes are in repair on average; {kept.spares_needed:,} spares are "
        f"enough for 99 % of the time{have}"
    )


def rate_rows(kept: Goodput) -> list[tuple[str, ...]]:
    """Return how often each kind of part interrupts the job."""
    return [
        (
            rate.part,
            f"{rate.count:,}",
            f"{rate.per_s * 86_400:.3g}",
            _time(1 / rate.per_part_per_s),
        )
        for rate in kept.rates
    ]


def domain_rows(domains: tuple[FaultDomain, ...]) -> list[tuple[str, ...]]:
    """Return what the loss of one part takes away."""
    return [
        (
            domain.part,
            f"{domain.count:,}",
            _nodes(domain.nodes_stopped) if domain.nodes_stopped else "nothing",
            _cost(domain),
        )
        for domain in domains
    ]


def improvement_rows(found: Uptime) -> list[tuple[str, ...]]:
    """Return what would help, and as how many more GPUs."""
    num_gpus, now = found.network.design.num_gpus, found.goodput.share
    return [
        (
            one.what,
            f"{one.share:.1%}",
            f"{100 * one.gain:+.2f} points",
            f"{num_gpus * one.gain / now:,.0f} more GPUs" if now else "-",
        )
        for one in found.improvements
    ]


def _cost(domain: FaultDomain) -> str:
    if domain.nodes_hit:
        return f"{_nodes(domain.nodes_hit)} {domain.node_share:.4g} of the bandwidth"
    return f"each switch below {domain.uplink_share:.3g} of its uplinks"


def _nodes(count: int) -> str:
    return f"{count:,} node{'' if count == 1 else 's'}"


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for number, heading in enumerate(headings):
        table.add_column(heading, justify="right" if number else "left")
    for row in rows:
        table.add_row(*row)
    return table


def _time(time_s: float) -> str:
    return format_quantity(time_s, TIME, digits=3)
