"""Slices of FlexE and MTN: which client has which slots of which PHY, and what a failure leaves.

A client is a pipe of its own, of as many slots as it has; what is idle in it is lost to others. A
PHY that fails takes its slots from every client. Protection puts them on free slots of the others;
the ends change to the new calendar together, at the next multiframe.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from netloom.errors import SpecError
from netloom.fabric.span.calendar import MULTIFRAME_S, SLOT_PAYLOAD_BPS, slots_for, slots_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

__all__ = ["SliceCalendar", "SliceChange", "failure_changes", "slice_calendar"]

_PS = 1e12


@dataclass(frozen=True, slots=True, kw_only=True)
class SliceCalendar:
    """The slots of each client on each PHY.

    Attributes:
        clients: Slots by PHY, of each client.
        phy_slots: What each PHY has; 0 of one that has failed.
    """

    clients: Mapping[str, tuple[int, ...]]
    phy_slots: tuple[int, ...]

    def __post_init__(self) -> None:
        """Refuse slots beyond a PHY."""
        for phy, total in enumerate(self.phy_slots):
            used = sum(slots[phy] for slots in self.clients.values())
            if used > total:
                raise SpecError(
                    key="slots",
                    what=f"clients take {used} slots of PHY {phy}, which has {total}",
                    remedy="move some to another PHY, or leave a client out",
                )

    def free(self, phy: int) -> int:
        """Return the slots of a PHY that no client has."""
        return self.phy_slots[phy] - sum(slots[phy] for slots in self.clients.values())

    def rate_bps(self, client: str) -> float:
        """Return what a client carries."""
        return sum(self.clients[client]) * SLOT_PAYLOAD_BPS

    @property
    def stranded_share(self) -> float:
        """Share of the slots that are up and no client has."""
        total = sum(self.phy_slots)
        return sum(self.free(phy) for phy in range(len(self.phy_slots))) / total if total else 0.0

    def without(self, phy: int) -> SliceCalendar:
        """Return what a failed PHY leaves."""
        kept = tuple(0 if at == phy else slots for at, slots in enumerate(self.phy_slots))
        clients = {
            name: tuple(0 if at == phy else count for at, count in enumerate(slots))
            for name, slots in self.clients.items()
        }
        return SliceCalendar(clients=clients, phy_slots=kept)

    def protected(self, wanted: Mapping[str, int]) -> SliceCalendar:
        """Return the calendar in which free slots make up what clients lack, the first first."""
        found = self
        for name, count in wanted.items():
            slots = list(found.clients[name])
            for phy in range(len(found.phy_slots)):
                more = min(count - sum(slots), found.free(phy))
                slots[phy] += max(0, more)
            found = replace(found, clients={**found.clients, name: tuple(slots)})
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class SliceChange:
    """From *when_ps* on *calendar* holds."""

    when_ps: int
    calendar: SliceCalendar


def slice_calendar(clients: Mapping[str, float], phys_bps: Sequence[float]) -> SliceCalendar:
    """Return slots for clients of nominal rates, on the first PHYs that have room.

    Raises:
        SpecError: they take more than the PHYs have.
    """
    phy_slots = tuple(slots_of(rate_bps) for rate_bps in phys_bps)
    wanted = {name: slots_for(rate_bps) for name, rate_bps in clients.items()}
    if sum(wanted.values()) > sum(phy_slots):
        over = sum(wanted.values()) - sum(phy_slots)
        raise SpecError(
            key="slots",
            what=f"clients take {sum(wanted.values())} slots of 5 Gb/s, the PHYs have "
            f"{sum(phy_slots)}",
            remedy=f"leave out {5 * over} Gb/s, or bond another PHY",
        )
    empty = SliceCalendar(
        clients=dict.fromkeys(clients, (0,) * len(phy_slots)), phy_slots=phy_slots
    )
    return empty.protected(wanted)


def failure_changes(
    calendar: SliceCalendar, *, phy: int, when_ps: int, within_ps: int | None = None
) -> Iterator[SliceChange]:
    """Yield what a PHY's failure does to the calendar, and its protection *within_ps*, if any."""
    wanted = {name: sum(slots) for name, slots in calendar.clients.items()}
    left = calendar.without(phy)
    yield SliceChange(when_ps=when_ps, calendar=left)
    if within_ps is not None:
        multiframe_ps = MULTIFRAME_S * _PS
        changed_ps = math.ceil(math.ceil((when_ps + within_ps) / multiframe_ps) * multiframe_ps)
        yield SliceChange(when_ps=changed_ps, calendar=left.protected(wanted))
