"""Gate synthesis by constraint programming (OR-Tools CP-SAT): finds a schedule if there is one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from netloom.errors import InfeasibleError, SpecError
from netloom.fabric.span.schedule import (
    check_streams,
    hypercycle_ps,
    lags_ps,
    link_use,
    scheduled,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from netloom.fabric.span.schedule import GateSchedule, PeriodicStream, ScheduledLink

__all__ = ["optimal_schedule", "solver_module"]

LIMIT_S: Final = 30.0


def optimal_schedule(
    streams: Sequence[PeriodicStream],
    links: Sequence[ScheduledLink],
    *,
    guard_ps: int,
    limit_s: float = LIMIT_S,
) -> GateSchedule:
    """Return a schedule, proved; *limit_s* is how long the solver may look, in its own seconds.

    Raises:
        SpecError: a deadline lies below the empty path.
        InfeasibleError: there is no schedule, or none was found in time.
    """
    check_streams(streams, links, guard_ps=guard_ps)
    cp_model = solver_module()
    model = cp_model.CpModel()
    cycle_ps = hypercycle_ps(streams)
    offsets = {one.name: model.new_int_var(0, one.period_ps - 1, one.name) for one in streams}
    busy: dict[int, list[Any]] = {}
    for one in streams:
        for at, lag_ps in zip(one.route, lags_ps(one, links), strict=False):
            length_ps = links[at].wire_ps(one.size_bytes) + guard_ps
            for turn in range(cycle_ps // one.period_ps):
                begin_ps = (lag_ps + turn * one.period_ps) % cycle_ps
                for back in range(3):  # what wraps round meets the begin of the cycle
                    interval = model.new_fixed_size_interval_var(
                        offsets[one.name] + begin_ps - back * cycle_ps,
                        length_ps,
                        f"{one.name} {at} {turn} {back}",
                    )
                    busy.setdefault(at, []).append(interval)
    for intervals in busy.values():
        model.add_no_overlap(intervals)
    solver = cp_model.CpSolver()
    solver.parameters.max_deterministic_time = limit_s  # equal inputs stop at equal points
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = 0
    status = solver.solve(model)
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        use = link_use(streams, links, guard_ps=guard_ps)
        worst = max(use, key=lambda at: (use[at], -at))
        found = "there is no schedule" if status == cp_model.INFEASIBLE else "none found in time"
        raise InfeasibleError(
            key="streams",
            what=f"{found}; link {links[worst].name!r} is booked to {100 * use[worst]:.1f} %",
            remedy="drop or slow streams that cross it, or use a faster link",
        )
    values = {name: int(solver.value(offset)) for name, offset in offsets.items()}
    return scheduled(streams, links, values, guard_ps=guard_ps, by="cp-sat")


def solver_module() -> Any:
    """Return OR-Tools' model of constraints.

    Raises:
        SpecError: it is not installed.
    """
    try:
        from ortools.sat.python import cp_model  # noqa: PLC0415
    except ImportError as error:
        raise SpecError(
            option="--optimal",
            what="OR-Tools is not installed",
            remedy="pip install 'netloom[schedule]', or leave it out for the built-in scheduler",
        ) from error
    return cp_model
