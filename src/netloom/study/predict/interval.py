"""Between which times a step is expected, as data and explained."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netloom.provenance import Source, Why
from netloom.units import SIZE, format_quantity
from netloom.validated.collective_errors import collective_error
from netloom.validated.intervals import NEAREST, SHARE, network_range

if TYPE_CHECKING:
    from netloom.step.model import Step
    from netloom.validated.intervals import ExposedWait

__all__ = ["explain_interval", "explain_network", "interval_json", "network_json"]

SOURCE = Source(
    citation="published training steps, netloom validate steps --rows", confidence="measured"
)

COLLECTIVES = Source(
    citation="measured collectives, netloom validate collectives --rows", confidence="measured"
)


def interval_json(step: Step) -> dict[str, float] | None:
    """Return the interval of the step; None where no measured step is near enough."""
    found = step.interval
    return found.to_json() if found else None


def network_json(step: Step) -> dict[str, float]:
    """Return between which times the exposed communication between nodes is expected."""
    low_s, high_s = network_range(step.basis)
    return {"low": low_s, "high": high_s, "share": SHARE}


def explain_interval(step: Step) -> Why:
    """Return how the interval of the step came about."""
    found = step.interval
    if found is None:
        return Why(
            name="interval",
            value="none",
            how="no measured step is as near as those that intervals were tried on",
        )
    near = found.nearest
    return Why(
        name="interval",
        value=f"{found.low_s:.4g} to {found.high_s:.4g} s",
        how=f"5 and 95 % quantiles of the errors of the {NEAREST} nearest measured steps, nearer "
        "ones counting more; exposed communication adds what its collectives are off by beyond "
        f"theirs; widened so that {found.share:.0%} of left-out rows this far away are held. "
        "Errors of computation are common to all technologies and cancel in a comparison",
        parts=(
            Why(name="step time", value=step.duration_s, unit="s"),
            Why(
                name="distance to the nearest rows", value=found.distance, how="docs/models/step.md"
            ),
            Why(name="widened at either end", value=found.widened, how="share of the step"),
            Why(name="nearest row", value=near.row_id, how=near.source, source=SOURCE),
            explain_network(step),
        ),
    )


def explain_network(step: Step) -> Why:
    """Return how the interval of what is exposed between nodes came about."""
    low_s, high_s = network_range(step.basis)
    return Why(
        name="exposed communication between nodes",
        value=f"{low_s:.3g} to {high_s:.3g} s",
        how="each exposed time by 5 and 95 % quantiles of measured over predicted duration of the "
        "collectives near its own; this is what tells technologies apart",
        parts=tuple(_wait(one) for one in step.basis.waits if one.collective.num_nodes > 1),
    )


def _wait(wait: ExposedWait) -> Why:
    error, asked = collective_error(wait.collective), wait.collective
    rows = "rows near by" if error.is_near else "no rows near by: those of any network"
    size = format_quantity(asked.size_bytes, SIZE)
    return Why(
        name=f"{asked.collective} of {size}, {asked.num_nodes} nodes, {asked.family}",
        value=wait.time_s,
        unit="s",
        how=f"times {min(error.low, 1.0):.2f} to {max(error.high, 1.0):.2f} ({rows})",
        source=COLLECTIVES,
    )
