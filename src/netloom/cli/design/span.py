"""``netloom span``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from netloom.cli.options import OwnParts, WhyPageOutput
from netloom.cli.scenario import scenario_at
from netloom.cli.show import show
from netloom.errors import SpecError
from netloom.report.span.page import span_page
from netloom.report.span.text import span_text
from netloom.study.inputs import catalog_of
from netloom.study.span.spanning import span as span_of
from netloom.units import LENGTH, parse_quantity

__all__ = ["span"]

BUILT_IN = "llama-3.1-405b-two-sites"
MAX_M = 40_000e3


def span(
    scenario: Path | None = None,
    *,
    length: Annotated[str | None, Parameter(help="Of every span, such as 1000km.")] = None,
    optimal: Annotated[
        bool, Parameter(help="Let OR-Tools set the gates of streams (netloom[schedule]).")
    ] = False,
    own: OwnParts = None,
    output: WhyPageOutput = WhyPageOutput(),  # noqa: B008  (frozen)
) -> int:
    """Say what training over several sites costs, how to lay the job over them, and how far.

    Args:
        scenario: A scenario file with sites and spans; default: the built-in example, Llama 3.1
            405B over two sites 500 km apart.
        length: The length of every span in place of the scenario's own.
        optimal: Look for a schedule of streams by constraint programming.
    """
    with scenario_at(scenario, built_in=BUILT_IN) as asked:
        found = span_of(asked, catalog_of(asked, own), length_m=_length_m(length), optimal=optimal)
    return show(found, output, lambda: span_text(found), page=lambda: span_page(found))


def _length_m(text: str | None) -> float | None:
    if text is None:
        return None
    length_m = parse_quantity(text, LENGTH, where="--length")
    if not 0 < length_m <= MAX_M:
        raise SpecError(
            option="--length", what=f"{text} is out of range", remedy="give 1m to 40000km"
        )
    return length_m
