"""A simulation as text: completion times, what the network did, the busiest links."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from rich.console import Group
from rich.table import Table
from rich.text import Text

from netloom.units import RATE, TIME, format_quantity

if TYPE_CHECKING:
    from rich.console import RenderableType

    from netloom.study.simulate.simulation import Simulation

__all__ = ["COUNTERS", "headline", "over_seeds", "ratio", "simulation_text", "step_rows", "time"]

# What the engines count, in the words of a reader; others are left to the JSON.
COUNTERS: Final = {
    "events": "events",
    "link_traversals": "link traversals",
    "marks": "ECN marks",
    "cnps": "CNPs",
    "pauses": "pauses",
    "drops": "drops",
    "lost": "lost on links",
    "unroutable": "packets without a way",
    "trims": "trimmed packets",
    "retransmissions": "retransmissions",
    "duplicates": "packets that had come before",
    "reordered": "reordered packets",
    "timeouts": "timeouts",
    "watchdogs": "watchdogs that struck",
    "classes": "flow classes",
}
# Told in text only where there are some.
_RARE: Final = frozenset({"lost", "unroutable", "duplicates", "timeouts", "watchdogs"})
_STATISTICS: Final = ("mean", "p50", "p99", "max")
_MAX_JOBS: Final = 12


def simulation_text(found: Simulation) -> RenderableType:
    """Return what ``netloom simulate`` prints."""
    parts: list[RenderableType] = [
        Text(found.title, style="bold"),
        Text(_subtitle(found), style="dim"),
        Text(headline(found), style="yellow" if found.partial else "green"),
        *_step(found),
        "",
        _completion(found),
        "",
        Text(_counters(found)),
    ]
    if len(found.jobs) > 1:
        parts += ["", _jobs(found)]
    busiest = found.busiest()
    if busiest:
        parts += ["", _busiest(busiest)]
    if len(found.runs) > 1:
        parts += ["", _over_seeds(found)]
    parts += [Text(f"note: {note}", style="dim") for note in found.notes]
    return Group(*parts)


def _step(found: Simulation) -> list[RenderableType]:
    """Return the phases of a step beside those that were predicted; nothing of other traffic."""
    rows = step_rows(found)
    if not rows:
        return []
    table = _grid("step", "predicted", "packets", "difference")
    for row in rows:
        table.add_row(*row[:-1])
    return ["", table, *(Text(f"{row[0]}: {row[-1]}") for row in rows if row[-1])]


def step_rows(found: Simulation) -> list[list[str]]:
    """Return rows of a phase, its predicted time, that in packets, the difference and why."""
    step = found.first.step
    if step is None:
        return []
    rows = [
        [
            phase.name.replace("_", " "),
            time(phase.predicted_s),
            time(phase.packets_s),
            _signed(phase.difference_s),
            phase.why,
        ]
        for phase in step.phases
        if phase.predicted_s or phase.packets_s
    ]
    more_s = step.duration_s - step.predicted_s
    whole = ["whole step", time(step.predicted_s), time(step.duration_s), _signed(more_s), ""]
    return [*rows, whole]


def _signed(seconds: float) -> str:
    return f"{'-' if seconds < 0 else '+'}{time(abs(seconds))}"


def headline(found: Simulation) -> str:
    """Return the result in a line."""
    run = found.first
    done = f"{len(run.done) * run.copies:,} of {len(run.transfers) * run.copies:,} transfers"
    span = format_quantity(run.span_s, TIME)
    goodput = format_quantity(run.goodput_bps, RATE)
    text = f"{done} ended in {span}; {goodput} of payload in all"
    return f"PARTIAL, stopped before the end: {text}" if found.partial else text


def _subtitle(found: Simulation) -> str:
    chosen = ", ".join(f"{key.replace('_', ' ')} {value}" for key, value in found.choices.items())
    seeds = f", {len(found.runs)} seeds" if len(found.runs) > 1 else f", seed {found.first.seed}"
    return f"{found.engine} engine, {found.technology}: {chosen}{seeds}"


def _grid(*headings: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for number, heading in enumerate(headings):
        table.add_column(heading, justify="right" if number else "left", no_wrap=True)
    return table


def _completion(found: Simulation) -> Table:
    table = _grid("", *_STATISTICS)
    numbers = found.first.to_json()
    times = numbers["fct_s"]
    table.add_row("completion", *(time(times.get(name)) for name in _STATISTICS))
    slower = numbers["slowdown"]
    table.add_row("slowdown", *(ratio(slower.get(name)) for name in _STATISTICS))
    return table


def _counters(found: Simulation) -> str:
    counters = found.first.delivery.counters
    shown = [
        f"{counters[key]:,} {word}"
        for key, word in COUNTERS.items()
        if key in counters and (counters[key] or key not in _RARE)
    ]
    seeds = f" for all {len(found.runs)} seeds" if len(found.runs) > 1 else ""
    took = [] if found.wall_s is None else [f"{found.wall_s:.2f} s of real time{seeds}"]
    return ", ".join([*shown, *took])


def _jobs(found: Simulation) -> Table:
    table = _grid("traffic", "transfers", "ended", "p50", "p99", "slowdown p99", "last end")
    rows = found.by_job()
    for row in rows[:_MAX_JOBS]:
        table.add_row(
            row["job"],
            f"{row['flows']:,}",
            f"{row['flows_finished']:,}",
            time(row["fct_s"].get("p50")),
            time(row["fct_s"].get("p99")),
            ratio(row["slowdown"].get("p99")),
            time(row["finish_s"]),
        )
    if len(rows) > _MAX_JOBS:
        table.add_row(f"and {len(rows) - _MAX_JOBS} more")
    return table


def _busiest(rows: list[dict[str, Any]]) -> Table:
    table = _grid("busiest links", "used")
    for row in rows[:5]:
        table.add_row(row["link"], f"{row['utilisation']:.1%}")
    return table


def _over_seeds(found: Simulation) -> Table:
    table = _grid("over seeds", "mean", "95% from", "to")
    for row in over_seeds(found):
        table.add_row(*row)
    return table


def over_seeds(found: Simulation) -> list[list[str]]:
    """Return rows of a name, the mean over the seeds and its confidence interval."""
    rows = []
    for name, values in found.over_seeds().items():
        write = ratio if name.startswith("slow") else _rate if name.endswith("bps") else time
        plain = name.removesuffix("_s").removesuffix("_bps").replace("_s_", " ")
        shown = (write(values[end]) for end in ("mean", "low", "high"))
        rows.append([plain.replace("_", " ").replace("fct", "completion"), *shown])
    return rows


def time(seconds: float | None) -> str:
    """Return a time as written, or a dash where there is none."""
    return "-" if seconds is None else format_quantity(seconds, TIME, digits=4)


def _rate(rate_bps: float | None) -> str:
    return "-" if rate_bps is None else format_quantity(rate_bps, RATE, digits=4)


def ratio(value: float | None) -> str:
    """Return a ratio as written, or a dash where there is none."""
    return "-" if value is None else f"{value:.3f}"
