"""The engines by the names that people call them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from netloom.engines.analytic.engine import AnalyticEngine
from netloom.errors import SpecError

if TYPE_CHECKING:
    from netloom.engines.base import Engine

__all__ = ["ENGINES", "engine_named"]

ENGINES: Final = ("analytic", "flow")


def engine_named(name: str, *, seed: int = 0) -> Engine:
    """Return the engine called *name*.

    Args:
        name: One of :data:`ENGINES`.
        seed: For engines that hash flows: which draw.

    Raises:
        SpecError: There is no such engine.
    """
    if name == "analytic":
        return AnalyticEngine()
    if name == "flow":
        # Imported here: the closed form needs none of it.
        from netloom.engines.flow.contention import RoutedContention  # noqa: PLC0415
        from netloom.engines.flow.engine import FlowEngine  # noqa: PLC0415

        return FlowEngine(library=AnalyticEngine(contention=RoutedContention(seed)))
    message = f"engine: there is no {name!r}; use one of {', '.join(ENGINES)}"
    raise SpecError(message)
