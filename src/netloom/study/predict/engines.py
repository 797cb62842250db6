"""The engines by the names that people call them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from netloom.engines.analytic.engine import AnalyticEngine
from netloom.errors import SpecError

if TYPE_CHECKING:
    from collections.abc import Callable

    from netloom.engines.base import Engine
    from netloom.spec.scenario import FabricSpec

__all__ = ["ENGINES", "engine_named", "engine_of"]

ENGINES: Final = ("analytic", "flow", "packet")


def engine_of(
    engine: Engine | str,
    *,
    seed: int = 0,
    announce: Callable[[str], None] = lambda _line: None,
    fabric: FabricSpec | None = None,
) -> Engine:
    """Return *engine*, or the one of that name; arguments as :func:`engine_named` takes them."""
    if not isinstance(engine, str):
        return engine
    return engine_named(engine, seed=seed, announce=announce, fabric=fabric)


def engine_named(
    name: str,
    *,
    seed: int = 0,
    announce: Callable[[str], None] = lambda _line: None,
    fabric: FabricSpec | None = None,
    workers: int = 1,
) -> Engine:
    """Return the engine called *name*.

    Args:
        name: One of :data:`ENGINES`.
        seed: For engines that hash flows: which draw.
        announce: Told what the packet engine is about to run, and how long that takes.
        fabric: The scenario's, whose settings and floor packets run with.
        workers: Threads for components of a packet run that share nothing.

    Raises:
        SpecError: There is no such engine, or no such seed.
    """
    if seed < 0:
        raise SpecError(key="seed", what=f"{seed} is negative", remedy="use 0 or more")
    if name == "analytic":
        return AnalyticEngine()
    if name == "flow":
        # Imported here: the closed form needs none of it.
        from netloom.engines.flow.contention import RoutedContention  # noqa: PLC0415
        from netloom.engines.flow.engine import FlowEngine  # noqa: PLC0415

        return FlowEngine(library=AnalyticEngine(contention=RoutedContention(seed)))
    if name == "packet":
        from netloom.spec.scenario import FabricSpec  # noqa: PLC0415
        from netloom.study.predict.packet_contention import (  # noqa: PLC0415
            PacketContention,
            PacketEngine,
        )
        from netloom.study.simulate.choices import Choices  # noqa: PLC0415

        where = fabric or FabricSpec()
        contention = PacketContention(
            seed,
            announce,
            choices=Choices(settings=where.settings or ""),
            chosen_for=where.technology if where.settings else "",
            floor=where.floor,
            num_workers=workers,
        )
        return PacketEngine(library=AnalyticEngine(contention=contention))
    raise SpecError(
        key="engine", what=f"there is no {name!r}", remedy=f"use one of {', '.join(ENGINES)}"
    )
