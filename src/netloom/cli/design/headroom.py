"""``netloom headroom``."""

from __future__ import annotations

from pathlib import Path

from netloom.cli.arguments import Whole
from netloom.cli.options import OwnParts, WhyPageOutput
from netloom.cli.scenario import scenario_at
from netloom.cli.show import show
from netloom.report.headroom import headroom_text
from netloom.report.headroom_page import headroom_page
from netloom.study.headroom.budget import headroom as headroom_of
from netloom.study.inputs import catalog_of
from netloom.units import LENGTH, parse_quantity

__all__ = ["headroom"]


def headroom(  # noqa: PLR0913  (one option of the command each)
    scenario: Path | None = None,
    *,
    cable: str = "",
    mtu: Whole = 9216,
    priorities: Whole = 1,
    settings: str = "",
    own: OwnParts = None,
    output: WhyPageOutput = WhyPageOutput(),  # noqa: B008  (frozen)
) -> int:
    """Say how much buffer pauses need, what is left for traffic, and what breaks first.

    Args:
        scenario: A scenario file with pauses (PFC); default: the example 'incast-rocev2'.
        cable: Length of every cable, such as 300m or 10km; default: as the machine room asks.
        mtu: Largest frame of the lossless priority in bytes, on both sides.
        priorities: Lossless priorities of a port.
        settings: Published marks by name, such as dcqcn-paper; default: the technology's own.
    """
    with scenario_at(scenario, built_in="incast-rocev2") as asked:
        found = headroom_of(
            asked,
            catalog_of(asked, own),
            cable_m=parse_quantity(cable, LENGTH, where="--cable") if cable else None,
            mtu_bytes=mtu,
            num_priorities=priorities,
            settings=settings,
        )
    return show(found, output, lambda: headroom_text(found), page=lambda: headroom_page(found))
