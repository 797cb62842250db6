"""``nl.show``: a result, a fabric or a live view, drawn in a notebook."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, Any, Final, Protocol
from urllib.parse import urlsplit

import numpy as np

from netloom.errors import SpecError
from netloom.fabric.graph import Fabric, LinkState
from netloom.fabric.layout import layout_of
from netloom.results.notebook import HEIGHT_PX, Inline, inline_result
from netloom.results.plain import to_plain

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from netloom.results.table import Table

__all__ = ["show"]

# As docs/serve.md numbers the states of cables.
UP: Final = 0
SLOW: Final = 2
DOWN: Final = 4
DRAINED: Final = 5


class _Drawable(Protocol):
    def to_json(self) -> dict[str, Any]: ...
    def table(self) -> Table: ...


def show(what: _Drawable | Fabric | str, *, height_px: int = HEIGHT_PX) -> Inline:
    """Return *what* as a notebook draws it, with the components of ``netloom serve``.

    >>> import netloom as nl
    >>> nl.show(nl.predict("job.yaml"))  # doctest: +SKIP
    >>> nl.show(nl.fail(nl.build("job.yaml"), "leaf:0"))  # doctest: +SKIP
    >>> nl.show("http://localhost:8787/live?view=matrix")  # doctest: +SKIP

    Args:
        what: A result of any command; a fabric, whose failed cables are marked; or the address
            of a page of ``netloom serve --embed ORIGIN``, which is shown live.
        height_px: How high; what is longer scrolls.

    Raises:
        SpecError: it is none of these.
    """
    if isinstance(what, str):
        return Inline(_live(what, height_px))
    if isinstance(what, Fabric):
        layout = layout_of(what)
        cells = layout.to_json() | {"states": _states(what)[layout.cables].tolist()}
        return Inline(inline_result({"command": "build", "fabric": cells}, height_px=height_px))
    if not (hasattr(what, "to_json") and hasattr(what, "table")):
        raise SpecError(
            what=f"a {type(what).__name__} cannot be shown",
            remedy="give a result, a fabric, or the address of a page of netloom serve",
        )
    command = type(what).__name__.lower()
    told = {"command": command, "result": to_plain(what.to_json())}
    table = what.table()._repr_html_()
    return Inline(inline_result(told, height_px=height_px, table=table))


def _states(fabric: Fabric) -> NDArray[np.uint8]:
    """Return the state of each cable, the worse of its directions."""
    state = np.maximum(fabric.link_state[0::2], fabric.link_state[1::2])
    is_slow = np.maximum(fabric.link_slowdown[0::2], fabric.link_slowdown[1::2]) > 1
    up = np.where(is_slow, SLOW, UP)
    found = np.select([state == LinkState.DOWN, state == LinkState.DRAINED], [DOWN, DRAINED], up)
    return found.astype(np.uint8)


def _live(address: str, height_px: int) -> str:
    parts = urlsplit(address)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise SpecError(
            what=f"{address[:80]!r} is no address of a page",
            remedy="give one such as http://localhost:8787/live",
        )
    return (
        f'<iframe class="netloom" title="netloom" src="{html.escape(address)}" '
        f'style="width:100%;height:{height_px}px;border:0"></iframe>'
    )
