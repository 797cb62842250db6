"""Cables that are alike, and how many transceivers light them."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from netloom.fabric.cost.optics import ports_at

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from netloom.fabric.design import Design, Stage
    from netloom.parts.parts import CableType, Transceiver

    Ports = dict[Stage, float]  # ports in use on one device, by stage

__all__ = ["CableGroup", "Modules", "apportion", "count_modules"]

_SLIVER: Final = 1e-6  # of a module: the rounding noise of shares that are added up


@dataclass(frozen=True, slots=True, kw_only=True)
class CableGroup:
    """Cables of one stage that are alike.

    Attributes:
        stage: Where they run.
        length_m: As ordered.
        in_rack: Whether they stay inside a rack.
        num_cables: How many.
        cable: What they are.
        lower: The transceiver at the lower end; None where the cable has its ends on it.
        upper: The transceiver at the upper end.
    """

    stage: Stage
    length_m: float
    in_rack: bool
    num_cables: int
    cable: CableType
    lower: Transceiver | None
    upper: Transceiver | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Modules:
    """Transceivers of one kind on the devices of one level.

    Attributes:
        level: ``node`` or a tier's name.
        transceiver: What they are.
        num_modules: How many.
    """

    level: str
    transceiver: Transceiver
    num_modules: int


def apportion(shares: NDArray[np.float64], total: int) -> NDArray[np.int64]:
    """Return whole numbers that sum to *total*, in proportion to *shares*.

    Largest remainders are rounded up, the first of equals first.
    """
    if total == 0:
        return np.zeros(len(shares), dtype=np.int64)
    exact = shares * (total / shares.sum())
    whole: NDArray[np.int64] = np.floor(exact + _SLIVER).astype(np.int64)
    order = np.argsort(whole - exact, kind="stable")
    whole[order[: total - int(whole.sum())]] += 1
    return whole


def count_modules(design: Design, runs: Sequence[CableGroup]) -> Iterator[Modules]:
    """Yield how many transceivers of each kind the devices of each level hold."""
    ports = {design.stages[0]: design.num_ports / design.num_nodes}
    yield from _on_level("node", [(design.num_nodes, ports)], runs)
    for index, tier in enumerate(design.tiers):
        yield from _on_level(tier.name, _fills(design, index), runs)


def _fills(design: Design, index: int) -> list[tuple[int, Ports]]:
    """Return how many switches of a tier have how many ports of each stage in use."""
    tier = design.tiers[index]
    ports = {
        stage: num_ends * stage.num_cables / tier.num_switches
        for stage in design.stages
        if (num_ends := (stage.lower, stage.upper).count(tier.name))
    }
    if index > 0:
        return [(tier.num_switches, ports)]
    return [(many, {**ports, design.stages[0]: down}) for many, down in _leaf_fills(design)]


def _leaf_fills(design: Design) -> list[tuple[int, float]]:
    """Return how many leaves have how many host ports in use.

    Each rail of each plane fills its leaves in the order of the nodes; the last stays partly
    free. Where a design spreads them otherwise, all leaves count as equally full.
    """
    tier = design.tiers[0]
    columns = design.num_rails * design.num_planes
    full, rest = divmod(design.num_ports // columns, max(1, tier.num_down))
    fills = [(full * columns, float(tier.num_down)), (columns if rest else 0, float(rest))]
    empty = tier.num_switches - sum(many for many, _ in fills)
    if empty < 0 or design.num_ports % columns:
        return [(tier.num_switches, design.num_ports / tier.num_switches)]
    return [(many, ports) for many, ports in (*fills, (empty, 0.0)) if many]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Use:
    """What one kind of transceiver does on a level.

    Attributes:
        stage: The cables it lights.
        module: The kind.
        share: Of the stage's cable ends on this level.
        num_full: Modules it would take, were each lit in full.
    """

    stage: Stage
    module: Transceiver
    share: float
    num_full: float

    def on_device(self, ports: Ports) -> float:
        """Return how many modules a device with *ports* in use holds, before rounding."""
        lit = ports_at(self.module, self.stage.rate_bps)
        return ports.get(self.stage, 0.0) * self.share / lit


def _uses(level: str, runs: Sequence[CableGroup]) -> list[_Use]:
    ends: dict[Stage, int] = defaultdict(int)
    lit: dict[tuple[Stage, str], int] = defaultdict(int)
    kinds: dict[str, Transceiver] = {}
    for run in runs:
        for end, module in ((run.stage.lower, run.lower), (run.stage.upper, run.upper)):
            if end != level:
                continue
            ends[run.stage] += run.num_cables
            if module is not None:
                kinds[module.name] = module
                lit[run.stage, module.name] += run.num_cables
    return [
        _Use(
            stage=stage,
            module=kinds[name],
            share=ports / ends[stage],
            num_full=ports / ports_at(kinds[name], stage.rate_bps),
        )
        for (stage, name), ports in lit.items()
    ]


def _on_level(
    level: str, fills: Sequence[tuple[int, Ports]], runs: Sequence[CableGroup]
) -> Iterator[Modules]:
    """Yield the transceivers of one level.

    Modules are rounded up on each device. Where the cables of one stage take several kinds by
    length, which device has how many of each is not known: then their sum is rounded up on each
    device and divided among the kinds, as if cables were paired so as to waste no cage.
    """
    uses = _uses(level, runs)
    mixed = len({use.stage for use in uses}) < len(uses)
    pools: dict[object, list[_Use]] = defaultdict(list)
    for use in uses:
        pools[use.stage.rate_bps if mixed else use.module.name].append(use)
    for pool in pools.values():
        total = sum(
            many * math.ceil(sum(use.on_device(ports) for use in pool) - _SLIVER)
            for many, ports in fills
        )
        yield from _divide(level, pool, total)


def _divide(level: str, pool: Sequence[_Use], total: int) -> Iterator[Modules]:
    kinds = {use.module.name: use.module for use in pool}
    shares = [sum(use.num_full for use in pool if use.module.name == name) for name in kinds]
    numbers = apportion(np.array(shares), total)
    for module, number in zip(kinds.values(), numbers, strict=True):
        yield Modules(level=level, transceiver=module, num_modules=int(number))
