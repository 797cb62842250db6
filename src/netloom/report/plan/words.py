"""The words that the text and the page of a plan share."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from netloom.units import TIME, format_quantity

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from netloom.study.plan.result import Plan, PlannedConfiguration

__all__ = ["HEADINGS", "alike", "apart", "differing", "fields_of", "musd", "say", "show", "time"]

_SHORT: Final = {
    "virtual_pipeline": "virtual",
    "micro_batch": "micro-batch",
    "sequence_parallel": "sequence parallel",
}
# As Megatron-LM's documentation abbreviates them.
HEADINGS: Final = {
    "tensor": "TP",
    "pipeline": "PP",
    "virtual": "VPP",
    "context": "CP",
    "expert": "EP",
    "data": "DP",
    "micro-batch": "MBS",
    "zero": "ZeRO",
    "sequence parallel": "SP",
}


def fields_of(choice: PlannedConfiguration) -> dict[str, Any]:
    """Return what a configuration can differ in, its machine included."""
    own = asdict(choice.configuration)
    own.pop("machine")
    network = choice.machine.network
    over = getattr(network.design.topology, "oversubscription", None)
    machine = {
        "GPUs": f"{network.design.num_gpus:,}",
        "technology": network.technology.name,
        "topology": network.design.topology.kind,
        "taper": "-" if over is None else f"{over:g}:1",
        "software": choice.step.practice.name,
    }
    return machine | {_SHORT.get(name, name): value for name, value in own.items()}


def differing(choices: Sequence[PlannedConfiguration]) -> list[str]:
    """Return the fields in which *choices* are not all alike."""
    rows = [fields_of(choice) for choice in choices]
    return [name for name in rows[0] if len({row[name] for row in rows}) > 1]


def alike(choices: Sequence[PlannedConfiguration]) -> str:
    """Return what *choices* have in common."""
    told = differing(choices)
    return say(choices[0], (name for name in fields_of(choices[0]) if name not in told))


def say(choice: PlannedConfiguration, names: Iterable[str]) -> str:
    """Return those fields of *choice*."""
    fields = fields_of(choice)
    return ", ".join(f"{name} {show(fields[name])}" for name in names)


def apart(plan: Plan, choice: PlannedConfiguration) -> str:
    """Return what *choice* does otherwise than the best, how long it takes, and how much more."""
    best = plan.best[0]
    longer = choice.step.duration_s / best.step.duration_s - 1
    what = say(choice, differing((best, choice))) or "the same"
    return f"{what}: {time(choice.step.duration_s)} ({longer:+.2%}), MFU {choice.step.mfu:.1%}"


def show(value: object) -> str:
    """Return a field's value as a person writes it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)


def time(time_s: float) -> str:
    """Return a time in four digits."""
    return format_quantity(time_s, TIME, digits=4)


def musd(amount_usd: float | None) -> str:
    """Return an amount in millions of dollars, or that it is not known."""
    return "unknown" if amount_usd is None else f"{amount_usd / 1e6:,.3f}"
