"""``netloom goodput``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from netloom.cli.options import OwnParts, WhyPageOutput
from netloom.cli.scenario import scenario_at
from netloom.cli.show import show
from netloom.study.goodput.uptime import goodput as goodput_of
from netloom.study.inputs import catalog_of

if TYPE_CHECKING:
    from rich.console import RenderableType

__all__ = ["goodput"]


def goodput(
    scenario: Path | None = None,
    *,
    own: OwnParts = None,
    output: WhyPageOutput = WhyPageOutput(),  # noqa: B008  (frozen)
) -> int:
    """Say how much of the time a job makes progress, what stops it, and what would help most.

    Args:
        scenario: A scenario file; default: the built-in example, Llama 3.1 405B on 16,384 H100.
    """
    with scenario_at(scenario) as asked:
        found = goodput_of(asked, catalog_of(asked, own))

    def text() -> RenderableType:
        from netloom.report.goodput import goodput_text  # noqa: PLC0415  (rich)

        return goodput_text(found)

    def page() -> str:
        from netloom.report.goodput_page import goodput_page  # noqa: PLC0415  (jinja2)

        return goodput_page(found)

    return show(found, output, text, page=page)
