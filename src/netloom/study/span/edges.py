"""What the ends of a span need."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from netloom.fabric.span.windows import (
    CREDIT_BYTES_PER_LANE,
    bdp_bytes,
    pfc_headroom_bytes,
    skew_bytes,
)

if TYPE_CHECKING:
    from netloom.fabric.span.lines import BuiltSpan

__all__ = ["EdgeNeed", "edge_needs"]

WINDOW_BYTES: Final = 16 * 2**20  # a QP's: 4,096 packets of 4 KiB, as many NICs have (recalled)
NCCL_SLOTS_BYTES: Final = 8 * 512 * 1024  # NCCL_STEPS x NCCL_BUFFSIZE / NCCL_STEPS: 4 MiB a QP


@dataclass(frozen=True, slots=True, kw_only=True)
class EdgeNeed:
    """Something a span needs, and what there is of it."""

    span: str
    what: str
    needed: float
    has: float
    unit: str
    ok: bool
    note: str


def edge_needs(span: BuiltSpan) -> tuple[EdgeNeed, ...]:
    """Return windows, QPs, credits and headroom against what the parts have."""
    rtt_s, wave_bps = 2 * span.latency.total_s, span.spec.waves.rate_bps
    bdp = bdp_bytes(span.payload_bps, rtt_s)
    qps = -(-bdp // WINDOW_BYTES)
    headroom = span.spec.waves.count * pfc_headroom_bytes(wave_bps, span.latency.total_s)
    relayed = span.spec.edge.flow_control == "relayed"
    other = span.spec.protection.length_m
    needs = [
        ("in flight to fill the span", bdp, float("nan"), "B", True, "rate x round trip"),
        (
            "QPs of 16 MiB windows",
            qps,
            float("nan"),
            "",
            True,
            "across all NICs of a site; fewer leave the span idle",
        ),
        (
            "QPs of NCCL's 4 MiB of slots",
            -(-bdp // NCCL_SLOTS_BYTES),
            float("nan"),
            "",
            True,
            "more channels, or a larger NCCL_BUFFSIZE",
        ),
        (
            "PFC headroom, one priority",
            headroom,
            span.buffer_bytes,
            "B",
            headroom <= span.buffer_bytes or relayed or span.spec.edge.flow_control == "none",
            "ended at the edges" if relayed else "only where PFC crosses the span",
        ),
        (
            "InfiniBand credits, one wave",
            bdp_bytes(wave_bps, rtt_s),
            CREDIT_BYTES_PER_LANE,
            "B",
            span.spec.edge.flow_control != "credits",
            "without range extenders credits end at hundreds of metres",
        ),
    ]
    if other is not None and span.spec.length_m is not None:
        late = skew_bytes(
            abs(other - span.spec.length_m), wave_bps, delay_per_km_s=span.fibre.delay_per_km_s
        )
        needs.append(
            (
                "reordering between routes, one wave",
                late,
                span.buffer_bytes,
                "B",
                late <= span.buffer_bytes,
                "where packets of one wave take both routes",
            )
        )
    return tuple(
        EdgeNeed(span=span.name, what=what, needed=needed, has=has, unit=unit, ok=ok, note=note)
        for what, needed, has, unit, ok, note in needs
    )
