"""``netloom share``."""

from __future__ import annotations

from pathlib import Path

from netloom.cli.options import OwnParts, PageOutput
from netloom.cli.scenario import scenario_at
from netloom.cli.show import show
from netloom.report.whatif.share import sharing_text
from netloom.report.whatif.share_page import sharing_page
from netloom.study.inputs import catalog_of
from netloom.study.whatif.share import share as share_fabric

__all__ = ["share"]


def share(
    scenario: Path,
    *,
    own: OwnParts = None,
    output: PageOutput = PageOutput(),  # noqa: B008  (frozen)
) -> int:
    """Say how much several jobs on one fabric slow one another.

    Args:
        scenario: A scenario file with 'jobs'.
    """
    with scenario_at(scenario) as asked:
        found = share_fabric(asked, catalog_of(asked, own))
    return show(found, output, lambda: sharing_text(found), page=lambda: sharing_page(found))
