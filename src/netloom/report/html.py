"""Self-contained pages: one template, charts as inline SVG, no network and no other files."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

    from netloom.report.sections import Page

__all__ = ["render"]


def render(page: Page) -> str:
    """Return *page* as one string of HTML; equal pages give equal strings."""
    return _environment().get_template("page.html.j2").render(page=page)


@cache
def _environment() -> Environment:
    # Every command can write a page, few do.
    from jinja2 import Environment, PackageLoader, StrictUndefined  # noqa: PLC0415

    from netloom.report.charts import draw  # noqa: PLC0415

    made = Environment(
        loader=PackageLoader("netloom.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals["draw"] = draw
    made.filters["drawn"] = _drawn
    return made


def _drawn(markup: str) -> Markup:
    """Return what the charts drew as markup: they escape every name they are given."""
    from markupsafe import Markup  # noqa: PLC0415

    return Markup(markup)  # noqa: S704
