"""What happens to which part: read from words, and done to a fabric."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from netloom.errors import SpecError
from netloom.fabric import edit
from netloom.fabric.graph import VertexKind
from netloom.fabric.names import find_vertex, kinds, vertex_names
from netloom.spec.problems import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from netloom.fabric.graph import Fabric

__all__ = ["Change", "applied", "changes_of", "parts_called", "straggling"]

Act = Literal["fail", "drain", "slow"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What happens to one part.

    Attributes:
        act: ``fail`` (down), ``drain`` (works, but routing avoids it) or ``slow``.
        part: As :mod:`netloom.fabric.edit` names it.
        factor: How many times slower; 1 for the other acts. Of a GPU, its computation; of
            anything else, its links.
    """

    act: Act
    part: str
    factor: float = 1.0

    def __str__(self) -> str:
        by = f" by {self.factor:g}" if self.act == "slow" else ""
        return f"{self.act} {self.part}{by}"


def changes_of(
    *, fail: Sequence[str] = (), drain: Sequence[str] = (), slow: Sequence[str] = ()
) -> tuple[Change, ...]:
    """Return what is asked for, in this order; *slow* has parts as ``PART=FACTOR``.

    Raises:
        SpecError: a factor is missing or no number of 1 or more.
    """
    return (
        *(Change(act="fail", part=part) for part in fail),
        *(Change(act="drain", part=part) for part in drain),
        *(_slowed(text) for text in slow),
    )


def _slowed(text: str) -> Change:
    part, equals, factor = text.rpartition("=")
    try:
        value = float(factor) if equals else math.nan
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value >= 1):
        raise SpecError(
            what=(
                f"--slow {text}: write the part and how many times slower it is, 1 or "
                "more, such as nic:12=2"
            )
        )
    return Change(act="slow", part=part, factor=value)


def applied(fabric: Fabric, changes: Sequence[Change]) -> Fabric:
    """Return *fabric* with *changes* done to it; slow GPUs are left to :func:`straggling`.

    Raises:
        SpecError: there is no such part, or it lies inside a node, where nothing is routed.
    """
    for change in changes:
        if change.act == "slow" and change.part.startswith("gpu:"):
            find_vertex(fabric, change.part)
            continue
        after = _done(fabric, change)
        _check_outside(fabric, after, change)
        fabric = after
    return fabric


def straggling(changes: Sequence[Change]) -> float:
    """Return how many times slower the slowest GPU computes; 1 when none was slowed."""
    slow = [c.factor for c in changes if c.act == "slow" and c.part.startswith("gpu:")]
    return max(slow, default=1.0)


def _done(fabric: Fabric, change: Change) -> Fabric:
    if change.act == "slow":
        return edit.slow(fabric, change.part, change.factor)
    return (edit.fail if change.act == "fail" else edit.drain)(fabric, change.part)


def _check_outside(before: Fabric, after: Fabric, change: Change) -> None:
    """Refuse what would change only or also the inside of a node, where it would not be seen."""
    kind = before.vertex_kind
    inside = np.isin(kind, (VertexKind.GPU, VertexKind.SCALE_UP))
    scale_up = inside[before.link_source] & inside[before.link_target]
    changed = before.link_state != after.link_state
    changed |= before.link_slowdown != after.link_slowdown
    whole = change.part.partition(":")[0] in {"gpu", "node"} and change.act != "slow"
    if whole or not (changed & scale_up).any():
        return
    remedy = (
        "slow its NICs (nic:N) or the computation of its GPUs (gpu:N)"
        if change.act == "slow"
        else "fail the GPU or the node"
    )
    raise SpecError(
        what=f"{change}: what happens to the scale-up network of a node is not modelled",
        remedy=remedy,
    )


def parts_called(fabric: Fabric, which: str) -> tuple[str, ...]:
    """Return the parts that *which* stands for.

    Args:
        fabric: Where they are.
        which: A tier (``leaf``), ``nic``, ``gpu``, ``node``, ``links`` (all cables of the
            scale-out network), or ``all``: switches, NIC ports, nodes and links.

    Raises:
        SpecError: there is nothing of that name.
    """
    tiers = [tier.name for tier in fabric.design.tiers]
    known = [*tiers, "nic", "gpu", "node", "links", "all"]
    if which not in known:
        raise SpecError(
            option="--rank",
            what=f"there is nothing called {which!r}",
            remedy=did_you_mean(which, known),
        )
    asked = [*tiers, "nic", "node", "links"] if which == "all" else [which]
    return tuple(part for kind in asked for part in _parts(fabric, kind))


def _parts(fabric: Fabric, kind: str) -> list[str]:
    if kind == "node":
        return [f"node:{node}" for node in range(fabric.design.num_nodes)]
    if kind == "links":
        return [f"cable:{cable}" for cable in scale_out_cables(fabric).tolist()]
    assert kind in kinds(fabric), kind
    return [name for name in vertex_names(fabric) if name.startswith(f"{kind}:")]


def scale_out_cables(fabric: Fabric) -> NDArray[np.int64]:
    """Return the cables that end in a switch of the scale-out network."""
    is_switch = fabric.vertex_kind == VertexKind.SWITCH
    return np.flatnonzero(is_switch[fabric.link_target[::2]] | is_switch[fabric.link_source[::2]])
