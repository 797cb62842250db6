"""Which way of repairing losses suits a job's own messages over its span."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from netloom.fabric.span.recovery import (
    ErasureCode,
    MessageTimes,
    Scheme,
    chunk_loss,
    erasure_times,
    frer_times,
    go_back_n_efficiency,
    go_back_n_times,
    lossless_s,
    selective_repeat_times,
)

if TYPE_CHECKING:
    from netloom.fabric.span.lines import BuiltSpan

__all__ = ["Repair", "choices", "chosen"]

PACKET_BYTES: Final = 4_096
CHUNK_BYTES: Final = 65_536  # SDR-RDMA's bitmap granularity
CHUNK_PACKETS: Final = CHUNK_BYTES // PACKET_BYTES
CODE: Final = ErasureCode(data=32, parity=8)


@dataclass(frozen=True, slots=True, kw_only=True)
class Repair:
    """A scheme, and what it makes of one message.

    Attributes:
        overhead: More bytes than the message has, as a share.
        rate_share: Of the line's rate that counts; go-back-N sends windows again.
        waits_rtts: Round trips that the last message of an exchange waits for what was lost.
        available: Whether the span can do it.
        chosen: Whether it is the fastest in the mean of those available.
        message_bytes: The message.
    """

    scheme: Scheme
    message_bytes: float
    mean_s: float
    p999_s: float
    lossless_s: float
    overhead: float
    rate_share: float
    waits_rtts: float
    available: bool
    chosen: bool
    note: str

    @property
    def line_overhead(self) -> float:
        """More bytes on the span itself; a second copy takes another route."""
        return 0.0 if self.scheme == "frer" else self.overhead


def choices(span: BuiltSpan, message_bytes: float) -> tuple[Repair, ...]:
    """Return every scheme for messages of *message_bytes*, the fastest in the mean first."""
    rows = sorted(_all(span, message_bytes), key=lambda row: row.mean_s)
    best = next(row for row in rows if row.available)
    return tuple(_marked(row, is_chosen=row is best) for row in rows)


def chosen(rows: tuple[Repair, ...]) -> Repair:
    """Return the one that is chosen."""
    return next(row for row in rows if row.chosen)


def _marked(row: Repair, *, is_chosen: bool) -> Repair:
    fields = {name: getattr(row, name) for name in Repair.__slots__}
    return Repair(**{**fields, "chosen": is_chosen})


def _all(span: BuiltSpan, message_bytes: float) -> list[Repair]:
    loss, rate_bps, rtt_s = span.spec.loss, span.payload_bps, 2 * span.latency.total_s
    chunks = max(1, round(message_bytes / CHUNK_BYTES))
    packets = max(1, round(message_bytes / PACKET_BYTES))
    chunk_s, packet_s = CHUNK_BYTES * 8 / rate_bps, PACKET_BYTES * 8 / rate_bps
    lost = chunk_loss(loss, CHUNK_PACKETS)
    window = rtt_s / packet_s
    twice = span.spec.protection.kind in ("1+1", "frer")
    base_s = lossless_s(chunks, chunk_s, rtt_s)

    def row(scheme: Scheme, times: MessageTimes, **more: object) -> Repair:
        given = {"overhead": 0.0, "rate_share": 1.0, "available": True, "note": "", **more}
        parity = CODE.overhead if scheme == "erasure-code" else 0.0
        extra_s = max(0.0, times.mean_s - base_s - parity * chunks * chunk_s)
        waits = 0.0 if scheme == "go-back-n" else extra_s / rtt_s
        return Repair(
            scheme=scheme,
            message_bytes=message_bytes,
            mean_s=times.mean_s,
            p999_s=times.p999_s,
            lossless_s=base_s,
            waits_rtts=waits,
            chosen=False,
            **given,  # type: ignore[arg-type]
        )

    return [
        row(
            "go-back-n",
            go_back_n_times(packets, packet_s, rtt_s, loss),
            rate_share=go_back_n_efficiency(loss, window),
            note=f"a loss sends {window:,.0f} packets again",
        ),
        row(
            "selective-repeat",
            selective_repeat_times(chunks, chunk_s, rtt_s, lost),
            note="a loss waits 3 round trips",
        ),
        row(
            "erasure-code",
            erasure_times(chunks, chunk_s, rtt_s, lost, code=CODE),
            overhead=CODE.overhead,
            note=f"{CODE.data} + {CODE.parity} chunks; no wait up to {CODE.parity} losses",
        ),
        row(
            "frer",
            frer_times(chunks, chunk_s, rtt_s, lost, lost),
            overhead=1.0,
            available=twice,
            note="every packet twice, over two routes"
            + ("" if twice else "; needs 'protection' with a second route"),
        ),
    ]
