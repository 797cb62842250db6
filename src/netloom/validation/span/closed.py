"""Rows that a formula answers: W1 to W5, W8 to W10, W13 to W19, W28."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from netloom.errors import SpecError
from netloom.fabric.span.calendar import (
    FRAME_S,
    GROUP_S,
    MULTIFRAME_S,
    SLOT_PAYLOAD_BPS,
    allot,
)
from netloom.fabric.span.curves import (
    PriorityClass,
    RateLatency,
    TokenBucket,
    concatenated,
    priority_server,
)
from netloom.fabric.span.latency import route_latency
from netloom.fabric.span.recovery import (
    ErasureCode,
    chunk_loss,
    erasure_times,
    go_back_n_efficiency,
    lossless_s,
    selective_repeat_times,
)
from netloom.fabric.span.windows import (
    bdp_bytes,
    credit_rate_bps,
    credit_reach_m,
    message_rate_bps,
    pfc_headroom_bytes,
)
from netloom.step.across.exchange import local_traffic_cut
from netloom.validation.span.row import exact, inside, within

if TYPE_CHECKING:
    from collections.abc import Iterator

    from netloom.validation.span.row import SpanRow

__all__ = ["closed_rows"]

AZURE_RTT_S: Final = 1.77e-3
SDR_RATE_BPS: Final = 400e9
SDR_RTT_S: Final = 25e-3
SDR_CHUNK_BYTES: Final = 65_536
SDR_CHUNKS: Final = 128 * 2**20 // SDR_CHUNK_BYTES
SDR_PACKETS: Final = 16
CODE: Final = ErasureCode(data=32, parity=8)


def closed_rows() -> Iterator[SpanRow]:
    """Yield every row that a formula answers."""
    yield from _latency()
    yield from _windows()
    yield from _flexe()
    yield from _bounds()
    yield from _recovery()
    yield exact(
        "W28",
        "traffic cut, 100 steps, 8 of 32 bits",
        400.0,
        local_traffic_cut(100, 8),
        tag="S2",
        unit="x",
    )


def _latency() -> Iterator[SpanRow]:
    parts = {"num_amplifiers": 30, "amplifier_s": 0.1e-6}
    again = {"num_regenerators": 4, "regenerator_s": 100e-6}
    plain_s = route_latency(2_005e3, delay_per_km_s=5e-6, **parts, **again).total_s  # type: ignore[arg-type]
    modules_s = 2_000 * 0.625e-6
    yield within(
        "W1",
        "latency of 2,000 km, coherent",
        10.428e-3,
        plain_s,
        tolerance=0.001,
        tag="S2,D",
        unit="s",
    )
    yield within(
        "W2",
        "latency of 2,000 km, dispersion-compensated",
        11.678e-3,
        plain_s + modules_s,
        tolerance=0.001,
        tag="S2,D",
        unit="s",
    )
    yield within(
        "W2-saving",
        "what coherent optics save",
        0.107,
        modules_s / (plain_s + modules_s),
        tolerance=0.005,
        tag="S2,D",
    )


def _windows() -> Iterator[SpanRow]:
    yield within(
        "W3",
        "in flight, 40G x 1.77 ms",
        8.85e6,
        bdp_bytes(40e9, AZURE_RTT_S),
        tolerance=0.005,
        tag="S",
        unit="B",
    )
    bare = pfc_headroom_bytes(400e9, 100 * 5e-6, constants=False)
    yield within("W4", "PFC headroom, 400G, 100 km", 50e6, bare, tolerance=0.005, tag="D", unit="B")
    yield inside(
        "W4-constants",
        "the same with constants",
        (50.0e6, 50.2e6),
        pfc_headroom_bytes(400e9, 100 * 5e-6),
        tag="D",
        unit="B",
        kind="closed",
    )
    for gbps, reach_m in ((100, 1_049), (200, 524), (400, 262), (800, 131)):
        yield within(
            f"W5-{gbps}G",
            "reach of InfiniBand's credits",
            reach_m,
            credit_reach_m(gbps * 1e9),
            tolerance=0.01,
            tag="D",
            unit="m",
        )
    yield within(
        "W5-10km",
        "rate of InfiniBand's credits at 10 km",
        10.49e9,
        credit_rate_bps(10e3, 400e9),
        tolerance=0.01,
        tag="D",
        unit="bit/s",
    )
    yield within(
        "W8",
        "64 KiB a round trip of 1.77 ms",
        296e6,
        message_rate_bps(65_536, AZURE_RTT_S),
        tolerance=0.01,
        tag="D",
        unit="bit/s",
    )


def _flexe() -> Iterator[SpanRow]:
    for name, expected, predicted, unit in (
        ("group", 13.095e-6, GROUP_S, "s"),
        ("frame", 104.76e-6, FRAME_S, "s"),
        ("multiframe", 3.352e-3, MULTIFRAME_S, "s"),
        ("slot", 4.99945e9, SLOT_PAYLOAD_BPS, "bit/s"),
    ):
        yield within(
            f"W9-{name}", f"FlexE {name}", expected, predicted, tolerance=1e-4, tag="S,D", unit=unit
        )
    clients = {"a": 35e9, "b": 25e9, "c": 20e9, "d": 20e9}
    yield exact(
        "W10", "slots of 35 + 25 + 20 + 20 Gb/s", 20, allot(clients, phy_bps=100e9).used, tag="S2"
    )
    yield exact(
        "W10-refused",
        "5 Gb/s more are refused",
        1,
        float(_is_refused({**clients, "e": 5e9})),
        tag="S2",
    )


def _is_refused(clients: dict[str, float]) -> bool:
    try:
        allot(clients, phy_bps=100e9)
    except SpecError:
        return True
    return False


def _bounds() -> Iterator[SpanRow]:
    bucket = TokenBucket(burst_bytes=64_000, rate_bps=10e9)
    one = RateLatency(rate_bps=25e9, latency_s=10e-6)
    tandem = [one, RateLatency(rate_bps=40e9, latency_s=5e-6), one]
    yield _bound("W13-delay", "one node: delay", 30.48e-6, one.delay_bound_s(bucket), "s")
    yield _bound("W13-backlog", "one node: backlog", 76_500, one.backlog_bound_bytes(bucket), "B")
    yield _bound(
        "W13-tandem",
        "three nodes, bursts paid once",
        45.48e-6,
        concatenated(tandem).delay_bound_s(bucket),
        "s",
    )
    total_s, arriving = 0.0, bucket
    for server in tandem:
        total_s += server.delay_bound_s(arriving) or 0.0
        arriving = server.output(arriving)
    yield _bound("W13-nodes", "three nodes, one by one", 87.26e-6, total_s, "s")
    high = PriorityClass(
        name="high", priority=1, arrivals=TokenBucket(burst_bytes=128_000, rate_bps=40e9)
    )
    low = PriorityClass(
        name="low", priority=0, arrivals=TokenBucket(burst_bytes=256_000, rate_bps=10e9)
    )
    for row_id, asked, other, preempts, expected in (
        ("W14", high, low, False, 10.977e-6),
        ("W14-preempted", high, low, True, 10.251e-6),
        ("W14-low", low, high, False, 51.2e-6),
    ):
        left = priority_server(100e9, asked, [other], preempts=preempts)
        bound_s = None if left is None else left.delay_bound_s(asked.arrivals)
        yield within(
            row_id,
            "strict priority: delay",
            expected,
            bound_s or 0.0,
            tolerance=0.001,
            tag="D",
            unit="s",
        )


def _bound(row_id: str, what: str, expected: float, found: float | None, unit: str) -> SpanRow:
    return within(row_id, what, expected, found or 0.0, tolerance=1e-4, tag="D", unit=unit)


def _recovery() -> Iterator[SpanRow]:
    window = 1_000 * 2 * 5e-6 * 400e9 / 8 / 4_096
    yield within(
        "W16",
        "go-back-N, 400G, 1,000 km, loss 1e-5: efficiency",
        0.45,
        go_back_n_efficiency(1e-5, window),
        tolerance=0.10,
        tag="D",
    )
    chunk_s = SDR_CHUNK_BYTES * 8 / SDR_RATE_BPS
    base_s = lossless_s(SDR_CHUNKS, chunk_s, SDR_RTT_S)
    means = {
        1e-6: (1.10, 3.7),
        1e-5: (1.67, 3.7),
        1e-4: (3.58, 6.4),
        1e-3: (4.85, 9.1),
        1e-2: (11.3, 22.6),
    }
    for loss, (mean, p999) in means.items():
        lost = chunk_loss(loss, SDR_PACKETS)
        times = selective_repeat_times(SDR_CHUNKS, chunk_s, SDR_RTT_S, lost)
        yield within(
            f"W17-{loss:.0e}",
            "selective repeat, 128 MiB: mean slowdown",
            mean,
            times.mean_s / base_s,
            tolerance=0.10,
            tag="D",
        )
        yield within(
            f"W17-p999-{loss:.0e}",
            "selective repeat, 128 MiB: p99.9 slowdown",
            p999,
            times.p999_s / base_s,
            tolerance=0.10,
            tag="D",
            gap=_p999_gap(loss),
        )
    worst = max(_coded(loss, chunk_s) / base_s for loss in (1e-6, 1e-5, 1e-4, 1e-3))
    yield inside(
        "W18",
        "EC(32,8) up to 1e-3: worst slowdown",
        (1.0, 1.25),
        worst,
        tag="S",
        kind="closed",
        reason="1.2 and 5 points",
    )
    for sites in (4, 8):
        for loss in (1e-4, 1e-3):
            yield inside(
                f"W19-{sites}-{loss:.0e}",
                f"all-reduce over {sites} sites: selective repeat over erasure code",
                (3.0, 6.0),
                _gain(sites, loss, chunk_s),
                tag="S",
                unit="x",
                kind="closed",
                reason="128 MiB, a ring of 2 (S - 1) rounds of 1/S each",
            )


def _p999_gap(loss: float) -> str:
    if loss < 1e-2:
        return ""
    return (
        "the exact distribution gives 7 time-outs at p99.9 (P(8 or more) = 4.9e-4); the expected "
        "value, a Monte Carlo of few runs, has 8"
    )


def _coded(loss: float, chunk_s: float) -> float:
    lost = chunk_loss(loss, SDR_PACKETS)
    return erasure_times(SDR_CHUNKS, chunk_s, SDR_RTT_S, lost, code=CODE).mean_s


def _gain(sites: int, loss: float, chunk_s: float) -> float:
    """Return how much faster a ring's round is; the slowest of its sites ends a round."""
    lost = chunk_loss(loss, SDR_PACKETS)
    coded = erasure_times(SDR_CHUNKS // sites, chunk_s, SDR_RTT_S, lost, code=CODE)
    # A round ends when all sites have their share: S messages of 1/S, as one of all chunks.
    slowest = selective_repeat_times(SDR_CHUNKS, chunk_s / sites, SDR_RTT_S, lost)
    return slowest.mean_s / coded.mean_s
