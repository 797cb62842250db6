"""The calendar of FlexE (OIF) and of MTN, which SPN carries: 20 slots of 5 Gb/s on 100 Gb/s.

A 100G instance sends 66-bit blocks at 103.125 Gb/s: one overhead block, then 1,023 rounds of 20
slots; 8 such groups are a frame, 32 frames a multiframe.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from netloom.errors import SpecError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "FRAME_S",
    "GROUP_S",
    "MULTIFRAME_S",
    "ROUND_S",
    "SLOTS_PER_100G",
    "SLOT_NOMINAL_BPS",
    "SLOT_PAYLOAD_BPS",
    "SlotUse",
    "allot",
    "slots_for",
    "slots_of",
]

LINE_BPS: Final = 103.125e9
BLOCK_BITS: Final = 66
SLOTS_PER_100G: Final = 20
SLOT_NOMINAL_BPS: Final = 5e9
GROUP_BLOCKS: Final = 1 + 1023 * SLOTS_PER_100G

GROUP_S: Final = GROUP_BLOCKS * BLOCK_BITS / LINE_BPS
FRAME_S: Final = 8 * GROUP_S
MULTIFRAME_S: Final = 32 * FRAME_S
ROUND_S: Final = SLOTS_PER_100G * BLOCK_BITS / LINE_BPS
# Of 5 Gb/s, less the overhead block and the alignment markers of the 100G PCS.
SLOT_PAYLOAD_BPS: Final = SLOT_NOMINAL_BPS * (GROUP_BLOCKS - 1) / GROUP_BLOCKS * 16_383 / 16_384


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotUse:
    """How a PHY's slots are divided.

    Attributes:
        clients: Slots of each client.
        total: Slots of the PHY.
    """

    clients: Mapping[str, int]
    total: int

    @property
    def used(self) -> int:
        """Slots that belong to a client."""
        return sum(self.clients.values())

    @property
    def stranded_share(self) -> float:
        """Share of the slots that no client has."""
        return 1 - self.used / self.total


def slots_of(phy_bps: float) -> int:
    """Return how many slots a PHY of *phy_bps* has."""
    return int(phy_bps // 100e9) * SLOTS_PER_100G or int(phy_bps // SLOT_NOMINAL_BPS)


def slots_for(rate_bps: float) -> int:
    """Return the slots that a client of nominally *rate_bps* takes."""
    return math.ceil(rate_bps / SLOT_NOMINAL_BPS - 1e-9)


def allot(clients: Mapping[str, float], *, phy_bps: float) -> SlotUse:
    """Return the slots of each client, given by its nominal rate.

    Raises:
        SpecError: they take more slots than the PHY has.
    """
    total = slots_of(phy_bps)
    taken = {name: slots_for(rate_bps) for name, rate_bps in clients.items()}
    used = sum(taken.values())
    if used > total:
        raise SpecError(
            key="slots",
            what=f"clients take {used} slots of 5 Gb/s, the PHY of {phy_bps / 1e9:g} Gb/s has "
            f"{total}",
            remedy=f"leave out {5 * (used - total)} Gb/s, or bond another PHY",
        )
    return SlotUse(clients=taken, total=total)
