"""Gate lists (IEEE 802.1Qbv): which priorities of a port may send when, over and over."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from netloom.errors import SpecError

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["GateList", "GateStep", "GateWindow", "cycle_gates", "window_gates"]


@dataclass(frozen=True, slots=True, kw_only=True)
class GateStep:
    """For *duration_ps* the priorities in *open_for* may send."""

    open_for: frozenset[int]
    duration_ps: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GateList:
    """The steps of one port, repeated from *offset_ps* on."""

    steps: tuple[GateStep, ...]
    offset_ps: int = 0

    @property
    def cycle_ps(self) -> int:
        """How long the list is."""
        return sum(step.duration_ps for step in self.steps)


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class GateWindow:
    """From *begin_ps* to *end_ps* of each cycle *priority* alone may send."""

    begin_ps: int
    end_ps: int
    priority: int
    name: str = ""


def window_gates(
    windows: Iterable[GateWindow],
    *,
    cycle_ps: int,
    between: frozenset[int] = frozenset(),
    key: str = "gates",
) -> GateList:
    """Return the gate list with a window for each of *windows*, one priority open in each.

    Args:
        windows: In any order; none may overlap another of a different priority.
        cycle_ps: How long the list is.
        between: Priorities that are open while no window is.
        key: Where the windows come from, for messages.

    Raises:
        SpecError: windows overlap, or reach beyond the cycle.
    """
    steps: list[GateStep] = []
    at_ps = 0
    last: GateWindow | None = None
    for one in sorted(windows):
        _check_window(one, last, cycle_ps=cycle_ps, key=key)
        if one.begin_ps > at_ps:
            steps.append(GateStep(open_for=between, duration_ps=one.begin_ps - at_ps))
        begin_ps = max(one.begin_ps, at_ps)
        if one.end_ps > begin_ps:
            steps.append(
                GateStep(open_for=frozenset({one.priority}), duration_ps=one.end_ps - begin_ps)
            )
        at_ps, last = max(at_ps, one.end_ps), one
    if at_ps < cycle_ps:
        steps.append(GateStep(open_for=between, duration_ps=cycle_ps - at_ps))
    return GateList(steps=tuple(steps))


def _check_window(one: GateWindow, last: GateWindow | None, *, cycle_ps: int, key: str) -> None:
    if not 0 <= one.begin_ps < one.end_ps <= cycle_ps:
        raise SpecError(
            key=key,
            what=f"the window {_said(one)} does not lie in the cycle of {cycle_ps / 1e6:g} us",
            remedy="move it, shorten it, or use a longer cycle",
        )
    if last is not None and one.begin_ps < last.end_ps and one.priority != last.priority:
        raise SpecError(
            key=key,
            what=f"the window {_said(one)} overlaps the one {_said(last)} by "
            f"{(last.end_ps - one.begin_ps) / 1e6:g} us",
            remedy=f"begin it at {last.end_ps / 1e6:g} us or later, or end the other earlier",
        )


def _said(one: GateWindow) -> str:
    name = f"of {one.name!r} " if one.name else ""
    return f"{name}(priority {one.priority}, {one.begin_ps / 1e6:g} to {one.end_ps / 1e6:g} us)"


def cycle_gates(
    priorities: tuple[int, ...], *, cycle_ps: int, dead_ps: int, always: frozenset[int]
) -> GateList:
    """Return the gates of queues that take turns of *cycle_ps* each (802.1Qch, 802.1Qdv).

    Queue number i, of the i-th of *priorities*, sends in cycles i, i + n, i + 2n, ...; in the last
    *dead_ps* of each nothing of them is sent, so that what is sent in a cycle arrives in it.
    """
    if not 0 <= dead_ps < cycle_ps:
        raise SpecError(
            key="cycle",
            what=f"links and forwarding take {dead_ps / 1e6:g} us of a cycle of "
            f"{cycle_ps / 1e6:g} us",
            remedy="use a longer cycle, or three queues and a cycle tag (ECQF)",
        )
    steps = []
    for priority in priorities:
        open_for = always | {priority}
        steps.append(GateStep(open_for=open_for, duration_ps=cycle_ps - dead_ps))
        if dead_ps:
            steps.append(GateStep(open_for=always, duration_ps=dead_ps))
    return GateList(steps=tuple(steps))
