"""Self-contained pages: one template, plotly.js and the figures' JSON in one string."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["render"]


def render(template: str, *, plots: Mapping[str, Any], **values: object) -> str:
    """Return the page that *template* makes of *values*, with a figure for each id in *plots*."""
    environment = Environment(
        loader=PackageLoader("netloom.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
    )
    asset = files("netloom.report") / "assets" / "plotly-basic.min.js"
    return environment.get_template(template).render(
        plotly=Markup(asset.read_text(encoding="utf-8")),  # noqa: S704  (our own asset)
        plots=Markup(_script_json(plots)),  # noqa: S704  (escaped just below)
        **values,
    )


def _script_json(value: object) -> str:
    """Return JSON that cannot end the script element it stands in."""
    return json.dumps(value).replace("<", "\\u003c").replace("&", "\\u0026")
