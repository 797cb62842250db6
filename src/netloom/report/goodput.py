"""Goodput as text: what is kept, what is lost to what, and what would help."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group
from rich.table import Table
from rich.text import Text

from netloom.units import TIME, format_quantity

if TYPE_CHECKING:
    from rich.console import RenderableType

    from netloom.fabric.fault_domains import FaultDomain
    from netloom.study.goodput.model import Goodput
    from netloom.study.goodput.uptime import Uptime

__all__ = ["goodput_text"]


def goodput_text(found: Uptime) -> RenderableType:
    """Return what ``netloom goodput`` prints."""
    kept, design = found.goodput, found.network.design
    where = f"{design.num_gpus:,} GPUs, {found.network.technology.name}"
    asked = (
        f"failures as on record for {kept.reliability.record}; checkpoint write "
        f"{_time(kept.reliability.checkpoint_write_s)}, restart {_time(kept.reliability.restart_s)}"
        f", repair {_time(kept.reliability.repair_s)}"
    )
    parts: list[RenderableType] = [
        Text(f"{found.scenario.job.model} on {where}", style="bold"),
        Text(asked, style="dim"),
        Text(_headline(kept), style="green"),
        Text(_spares(kept)),
        "",
        _rates(kept),
        "",
        _domains(found.domains),
        "",
        _improvements(found),
    ]
    parts += [Text(f"- {doubt}", style="dim") for doubt in kept.validity.doubts]
    return Group(*parts)


def _headline(kept: Goodput) -> str:
    lost = ", ".join(f"{what} {share:.1%}" for what, share in kept.losses().items() if share)
    return (
        f"{kept.share:.1%} of the time ends up in the model; interrupted every "
        f"{_time(kept.mean_time_between_s)}, a checkpoint every {_time(kept.interval_s)} "
        f"is best; lost: {lost}"
    )


def _spares(kept: Goodput) -> str:
    given = kept.reliability.spares
    have = "" if given is None else f"; the scenario has {given:,}"
    return (
        f"{kept.nodes_away:.1f} nodes are in repair on average; {kept.spares_needed:,} spares are "
        f"enough for 99 % of the time{have}"
    )


def _rates(kept: Goodput) -> Table:
    table = _table("what interrupts", "parts", "a day", "one part every")
    for rate in kept.rates:
        table.add_row(
            rate.part,
            f"{rate.count:,}",
            f"{rate.per_s * 86_400:.3g}",
            _time(1 / rate.per_part_per_s),
        )
    return table


def _domains(domains: tuple[FaultDomain, ...]) -> Table:
    table = _table("loss of one", "of", "stops", "costs")
    for domain in domains:
        table.add_row(
            domain.part,
            f"{domain.count:,}",
            _nodes(domain.nodes_stopped) if domain.nodes_stopped else "nothing",
            _cost(domain),
        )
    return table


def _cost(domain: FaultDomain) -> str:
    if domain.nodes_hit:
        return f"{_nodes(domain.nodes_hit)} {domain.node_share:.4g} of the bandwidth"
    return f"each switch below {domain.uplink_share:.3g} of its uplinks"


def _nodes(count: int) -> str:
    return f"{count:,} node{'' if count == 1 else 's'}"


def _improvements(found: Uptime) -> Table:
    table = _table("what would help", "goodput", "gain", "as good as")
    num_gpus, now = found.network.design.num_gpus, found.goodput.share
    for one in found.improvements:
        gpus = f"{num_gpus * one.gain / now:,.0f} more GPUs" if now else "-"
        table.add_row(one.what, f"{one.share:.1%}", f"{100 * one.gain:+.2f} points", gpus)
    return table


def _table(first: str, *others: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column(first)
    for heading in others:
        table.add_column(heading, justify="right")
    return table


def _time(time_s: float) -> str:
    return format_quantity(time_s, TIME, digits=3)
