"""A store of 98,304 cables: 4,096 nodes on InfiniBand, one cable down, every cable loaded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from netloom.app.designs import design_of
from netloom.ops.observe.observation import Observation, Reading
from netloom.ops.observe.store import ObservationStore
from netloom.spec.load import parse

if TYPE_CHECKING:
    from pathlib import Path

LARGE: Final = """\
cluster:
  nodes: 4096
  node: dgx-h100
  fabric:
    technology: infiniband-ndr
"""
NUM_CABLES: Final = 98_304
EVERY_S: Final = 10.0
DOWN: Final = 40  # which of the plant's cables


def write_large_store(path: Path, *, end_s: float) -> None:
    """Write two looks, the last at *end_s*; half of the ports send at a tenth of their rate."""
    plant = design_of(parse(LARGE, name="large")).plant
    assert len(plant.cables) == NUM_CABLES
    down = plant.cables[DOWN].number
    ports = [(plant.port_name(port), cable) for cable in plant.cables for port in cable.ends]
    with ObservationStore(path) as store:
        for look in range(2):
            at_s = end_s - EVERY_S * (1 - look)
            seen: list[Observation] = []
            for index, (name, cable) in enumerate(ports):
                is_up = cable.number != down or not look
                sent_bytes = look * (index % 2) * 0.1 * cable.rate_bps / 8 * EVERY_S
                seen.append(Observation(at_s, name, "link_up", float(is_up)))
                seen.append(Observation(at_s, name, "sent_bytes", sent_bytes))
            store.add(Reading(source="subnet", time_s=at_s, observations=tuple(seen)))


def store_changes(path: Path, *, at_s: float, number: int) -> None:
    """Write a look at which one port of a hundred goes down, or comes up again."""
    plant = design_of(parse(LARGE, name="large")).plant
    ports = [plant.port_name(cable.lower) for cable in plant.cables[number % 2 :: 100]]
    seen = [Observation(at_s, name, "link_up", float(number % 2)) for name in ports]
    with ObservationStore(path) as store:
        store.add(Reading(source="subnet", time_s=at_s, observations=tuple(seen)))
