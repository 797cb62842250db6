"""Whether switches have room for what they are asked to hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from netloom.errors import InfeasibleError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from netloom.engines.packet.settings import PacketSettings, SwitchSettings
    from netloom.fabric.wiring.wiring import PacketTopology

__all__ = ["check_headroom", "check_input", "check_queues"]

_NEVER_BYTES: Final = 1 << 60


def check_headroom(
    wiring: PacketTopology,
    settings: PacketSettings,
    *,
    buffer: NDArray[np.int64],
    headroom: NDArray[np.int64],
    pool: NDArray[np.int64],
) -> None:
    """Raise where headroom and reserve of its ports take all of a switch's buffer.

    Headroom of a *pool* takes what the pool holds, however much its ports may ask for.
    """
    held = np.zeros(wiring.num_vertices, dtype=np.int64)
    np.add.at(held, wiring.link_target, headroom)
    if len(pool):
        held = np.where(pool > 0, pool, held)
    np.add.at(held, wiring.link_target, settings.switch.reserve_bytes)
    held[: wiring.num_endpoints] = 0
    short = np.flatnonzero(held >= buffer)
    if len(short):
        worst = int(short[np.argmax(held[short])])
        raise InfeasibleError(
            key="switch.buffer_bytes",
            what=(
                f"{wiring.name[worst]} has {buffer[worst]} bytes, and headroom and reserve "
                f"of its ports take {held[worst]}"
            ),
            remedy="use a larger buffer there, shorter cables, fewer lossless priorities, or a "
            "pool that its headroom shares",
        )


def check_input(
    wiring: PacketTopology, settings: PacketSettings, headroom: NDArray[np.int64]
) -> None:
    """Raise where an input's own buffer is no larger than its headroom."""
    own = settings.switch.ingress_bytes
    most = int(headroom[wiring.link_target >= wiring.num_endpoints].max(initial=0))
    if most >= own:
        raise InfeasibleError(
            key="switch.ingress_bytes",
            what=f"{own} bytes, and headroom takes {most} of them",
            remedy="use more, or shorter cables",
        )


def check_queues(
    wiring: PacketTopology,
    switch: SwitchSettings,
    packet_bytes: int,
    *,
    buffer: NDArray[np.int64],
    alpha: NDArray[np.float64],
) -> None:
    """Raise where a queue of a switch that drops holds no packet of *packet_bytes*."""
    most = np.full(wiring.num_links, switch.queue_bytes, dtype=np.int64)
    most = np.where(most > 0, most, np.floor(alpha * buffer[wiring.link_source]))
    most = np.minimum(most, buffer[wiring.link_source])
    if switch.ingress_bytes:
        most[:] = switch.ingress_bytes
    most[(wiring.link_source < wiring.num_endpoints) | wiring.link_scale_up] = _NEVER_BYTES
    least = int(np.argmin(most)) if len(most) else -1
    if least >= 0 and most[least] < packet_bytes:
        raise InfeasibleError(
            key="switch",
            what=(
                f"{wiring.name[wiring.link_source[least]]} has room for {int(most[least])} "
                f"bytes in a queue, and packets have {packet_bytes}: none would pass"
            ),
            remedy="enlarge the queue, alpha or the buffer",
        )
