"""Rows that the packet engine answers over distance: W5 to W8, W16 to W18, and W33."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from netloom.engines.packet.ecn import Ecn
from netloom.engines.packet.engine import run_packets
from netloom.engines.packet.faults import PacketFault
from netloom.engines.packet.lower import Recording
from netloom.engines.packet.presets import RECOVERIES
from netloom.engines.packet.settings import Credits, PacketSettings, SwitchSettings, Transport
from netloom.fabric.span.lines import built_span
from netloom.fabric.span.recovery import chunk_loss, lossless_s
from netloom.spec.load import parse
from netloom.study.simulate.run import simulate
from netloom.validation.span.networks import (
    LINE_SPAN,
    MS,
    SHORT_PS,
    US,
    durations_s,
    line,
    messages,
    network,
)
from netloom.validation.span.row import exact, inside, shown, within

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from netloom.engines.delivery import Delivery
    from netloom.parts.load import Catalog
    from netloom.validation.span.row import SpanRow

__all__ = [
    "LOSSES",
    "azure_flows",
    "chunked_host",
    "distance_parts",
    "message_s",
    "slowdown",
]

RATE_BPS: Final = 400e9
ENOUGH_SEEDS: Final = 20  # for the tolerance of W16; it widens with fewer as a mean's error does
DEEP: Final = SwitchSettings(buffer_bytes=1 << 31)
AZURE_ONE_WAY_PS: Final = 885 * US
AZURE_UNTIL_PS: Final = 500 * MS
AZURE_FROM_PS: Final = 100 * MS  # before it, flows settle
LOSSES: Final = {1e-6: 1.10, 1e-5: 1.67, 1e-4: 3.58, 1e-3: 4.85, 1e-2: 11.3}
CHUNK_BYTES: Final = 65_024  # of a packet that stands for a chunk of 64 KiB: 16 bits count it
CHUNK_PACKETS: Final = 16
TWO_SITES: Final = """
cluster: {nodes: 8, node: dgx-h100, fabric: {technology: rocev2-400g}}
sites: [{name: north, nodes: 4}, {name: south, nodes: 4}]
spans:
  - between: [north, south]
    length: 1000km
    waves: {count: 1, rate: 400Gbps, optics: 400zr-plus}
    loss: 0
traffic:
  - {kind: one-to-one, source: 0, target: 32, size: 1GB}
"""
ONE_SITE: Final = """
cluster: {nodes: 4, node: dgx-h100, fabric: {technology: rocev2-400g}}
traffic:
  - {kind: one-to-one, source: 0, target: 8, size: 100MB}
"""


def distance_parts(
    catalog: Catalog, *, num_seeds: int
) -> tuple[Callable[[], Iterator[SpanRow]], ...]:
    """Return what yields the rows; those of random losses are means of *num_seeds* runs or more."""
    return (
        _credits,
        _azure,
        _handshakes,
        _rings,
        partial(_go_back_n, num_seeds),
        partial(_repeats, 10 * num_seeds),
        partial(_codes, num_seeds),
        partial(_engines, catalog),
    )


def _lossy(transport: Transport) -> PacketSettings:
    return PacketSettings(flow_control="lossy", switch=DEEP, transport=transport)


def _credits() -> Iterator[SpanRow]:
    """InfiniBand's credits, on a link of 10 km and at the ends of their reach."""
    yield within(
        "W5-sim",
        "rate of InfiniBand's credits at 10 km, simulated",
        10.49e9,
        _credit_rate_bps(400e9, 10_000),
        tolerance=0.01,
        tag="D",
        unit="bit/s",
        kind="sim",
        reason="packets of 4 KiB with their headers, 64 blocks of credit",
    )
    for gbps, metres in ((100, 1_049), (400, 262)):
        yield shown(
            f"W5-sim-{gbps}G",
            f"share of {gbps}G that credits carry at the end of their reach, {metres:,} m",
            _credit_rate_bps(gbps * 1e9, metres) / (gbps * 1e9),
            tag="M",
            reason="a packet's own time on the wire is not in the formula's round trip",
        )


def _credit_rate_bps(rate_bps: float, metres: float) -> float:
    one_way_ps = round(metres * 5_000)
    net = network(2, [(0, 2, rate_bps, one_way_ps), (1, 2, rate_bps, 0)])
    host = Transport(
        payload_bytes=4_070,
        header_bytes=26,
        gap_bytes=0,
        least_bytes=0,
        ack_on_data_lane=True,
        ask_every_packets=256,
    )
    settings = PacketSettings(
        flow_control="credits",
        credits=Credits(update_bytes=64),
        switch=SwitchSettings(cut_through=True),
        transport=host,
    )
    size = 20_000 * host.payload_bytes
    found = run_packets(net, messages([(0, 1)], size), settings)
    took_s = float(durations_s(found)[0]) - 2e-12 * one_way_ps
    return size * (host.payload_bytes + host.header_bytes) / host.payload_bytes * 8 / took_s


def _azure() -> Iterator[SpanRow]:
    """Azure's two flows of DCQCN into one port of 40 Gb/s, 2 us and 1.77 ms away."""
    found = [_two_flows(1_024, seed) for seed in (1, 2, 3)]
    far, near, queue = (float(np.mean([one[at] for one in found])) for at in range(3))
    for name, rate_bps in (("far", far), ("near", near)):
        yield within(
            f"W6-{name}",
            f"two DCQCN flows, 40G: the {name} one",
            17e9,
            rate_bps,
            tolerance=0.15,
            tag="S",
            unit="bit/s",
            kind="sim",
            reason="mean of 3 seeds from 0.1 s on; packets of 1 KiB assumed",
        )
    yield inside(
        "W6-ratio", "the same: slower over faster", (0.85, 1.0), far / near, tag="S", kind="sim"
    )
    yield exact(
        "W6-loss",
        "the same: packets dropped, and pauses",
        0,
        float(sum(one[3] for one in found)),
        tag="S",
        kind="sim",
    )
    yield within(
        "W7",
        "the same: highest queue, from 0.1 s on",
        1.36e6,
        queue,
        tolerance=0.30,
        tag="S",
        unit="B",
        kind="sim",
        reason="below Kmax of 2 MB",
    )
    yield shown("W7-4KiB", "with packets of 4 KiB", _two_flows(4_096, 1)[2], tag="M", unit="B")


def azure_flows(payload_bytes: int, seed: int) -> Delivery:
    """Return half a second of Azure's two flows, with samples of what links carry and hold.

    Link 0 is the far sender's, 2 the near one's, 5 the receiver's.
    """
    rate_bps = 40e9
    net = network(
        3,
        [
            (0, 3, rate_bps, AZURE_ONE_WAY_PS - SHORT_PS),
            (1, 3, rate_bps, SHORT_PS),
            (2, 3, rate_bps, SHORT_PS),
        ],
    )
    settings = PacketSettings(
        congestion_control="dcqcn",
        ecn=Ecn(kmin_bytes=1_000_000, kmax_bytes=2_000_000, pmax=0.05, at_rate_bps=0),
        switch=SwitchSettings(buffer_bytes=64_000_000, alpha=1.0),
        transport=Transport(
            payload_bytes=payload_bytes,
            cnp_interval_ps=50 * US,
            timeout_ps=4 * MS,
            ask_every_packets=256,
        ),
    )
    return run_packets(
        net,
        messages([(0, 2), (1, 2)], 1 << 34),
        settings,
        seed=seed,
        until_ps=AZURE_UNTIL_PS,
        watch=Recording(links=(0, 2, 5), every_ps=50 * US),
    )


def _two_flows(payload_bytes: int, seed: int) -> tuple[float, float, float, int]:
    """Return both rates, the highest queue, and how much was dropped or paused."""
    found = azure_flows(payload_bytes, seed)
    table = found.tables["samples"]
    late = table["when_ps"].astype(np.int64) >= AZURE_FROM_PS
    rates = []
    for link in (0, 2):
        sent = table["sent_bytes"][late & (table["link"] == link)].astype(np.int64)
        rates.append(float(sent[-1] - sent[0]) * 8e12 / (AZURE_UNTIL_PS - AZURE_FROM_PS))
    queue = float(table["waiting_bytes"][late & (table["link"] == 5)].max())
    return rates[0], rates[1], queue, found.counters["drops"] + found.counters["pauses"]


def _handshakes() -> Iterator[SpanRow]:
    """One message a round trip: it is sent, answered by a few bytes, and the next one follows."""
    count = 20
    net = line(40e9, AZURE_ONE_WAY_PS - 2 * SHORT_PS)
    pairs = [(number % 2, 1 - number % 2) for number in range(2 * count)]
    sizes = [65_536 if number % 2 == 0 else 64 for number in range(2 * count)]
    found = run_packets(
        net, messages(pairs, sizes, chained=True), _lossy(Transport(timeout_ps=100 * MS))
    )
    arrived_ps = found.tables["arrivals"]["arrive_ps"]
    took_s = float(arrived_ps.max() - found.start_ps.min()) * 1e-12
    yield within(
        "W8-sim",
        "64 KiB a round trip of 1.77 ms, simulated",
        296e6,
        count * 65_536 * 8 / took_s,
        tolerance=0.01,
        tag="D",
        unit="bit/s",
        kind="sim",
    )


def _rings() -> Iterator[SpanRow]:
    """Selective repeat without losses fills a line of any length."""
    host = Transport(recovery="selective", timeout_ps=100 * US)
    share = host.payload_bytes / (host.payload_bytes + host.header_bytes + host.gap_bytes)
    for km in (100, 1_000, 3_750):
        rtt_s = 2 * km * 5e-6
        size = round(2 * RATE_BPS / 8 * rtt_s)
        found = run_packets(
            line(RATE_BPS, km * 5 * US), messages([(0, 1)], size), _lossy(host), seed=1
        )
        took_s = float(durations_s(found)[0]) - rtt_s
        yield within(
            f"ring-{km}km",
            f"selective repeat over {km:,} km, 400G, without losses: payload",
            RATE_BPS * share,
            size * 8 / took_s,
            tolerance=0.01,
            tag="D",
            unit="bit/s",
            kind="sim",
        )


def _go_back_n(num_seeds: int) -> Iterator[SpanRow]:
    size, rtt_s = 4 << 30, 10e-3
    host = Transport(timeout_ps=4 * MS, ask_every_packets=256)
    took_s = np.mean([message_s(host, 5 * MS, size, 1e-5, seed) for seed in _seeds(num_seeds)])
    wire_bytes = (host.payload_bytes + host.header_bytes + host.gap_bytes) / host.payload_bytes
    yield within(
        "W16-sim",
        f"go-back-N, 400G, 1,000 km, loss 1e-5, 4 GiB: efficiency, {num_seeds} seeds",
        0.45,
        size * wire_bytes * 8 / RATE_BPS / (float(took_s) - rtt_s),
        tolerance=0.10 * math.sqrt(max(1.0, ENOUGH_SEEDS / num_seeds)),
        tag="D",
        kind="sim",
        reason="time on the wire without losses over the time less a round trip",
    )


def _seeds(count: int) -> range:
    return range(1, count + 1)


def message_s(host: Transport, one_way_ps: int, size: int, loss: float, seed: int) -> float:
    """Return how long a message takes on a line that loses data."""
    faults = [PacketFault(when_ps=0, kind="loss", link=LINE_SPAN, loss=loss)] if loss else []
    found: Delivery = run_packets(
        line(RATE_BPS, one_way_ps), messages([(0, 1)], size), _lossy(host), seed=seed, faults=faults
    )
    return float(durations_s(found)[0])


def slowdown(host: Transport, size: int, loss: float, num_seeds: int, base_s: float) -> float:
    """Return the mean time of messages over 2,500 km, over *base_s*."""
    return float(
        np.mean(
            [message_s(host, 12_500 * US, size, loss, seed) / base_s for seed in _seeds(num_seeds)]
        )
    )


def chunked_host(name: str, **more: Any) -> Transport:
    """Return a transport of which each packet stands for a chunk of 64 KiB."""
    own = {**RECOVERIES[name], "payload_bytes": CHUNK_BYTES, "ack_every_bytes": 1, **more}
    return Transport(**own)


def _repeats(num_seeds: int) -> Iterator[SpanRow]:
    host = chunked_host("uet", timeout_rtts=3.0, ask_rtts=0.0, measures_timeout=False)
    size = 2_048 * CHUNK_BYTES
    base_s = message_s(host, 12_500 * US, size, 0.0, 1)
    for loss, expected in LOSSES.items():
        lost = chunk_loss(loss, CHUNK_PACKETS)
        yield within(
            f"W17-sim-{loss:.0e}",
            f"selective repeat, 2,048 chunks, 25 ms: mean slowdown, {num_seeds} seeds",
            expected,
            slowdown(host, size, lost, num_seeds, base_s),
            tolerance=0.10,
            tag="D",
            kind="sim",
            reason="a chunk is one packet of 63.5 KiB, which is lost as 16 packets are",
        )


def _codes(num_seeds: int) -> Iterator[SpanRow]:
    size = 2_048 * CHUNK_BYTES
    base_s = message_s(chunked_host("uet"), 12_500 * US, size, 0.0, 1)
    chunked = chunked_host("ec-32-8")
    worst = max(
        slowdown(chunked, size, chunk_loss(loss, CHUNK_PACKETS), num_seeds, base_s)
        for loss in (1e-6, 1e-5, 1e-4, 1e-3)
    )
    yield inside(
        "W18-sim",
        "EC(32,8) of chunks up to 1e-3, simulated: worst slowdown",
        (1.0, 1.25),
        worst,
        tag="S",
        kind="sim",
        reason="1.2 and 5 points",
    )
    few = max(1, num_seeds // 5)
    plain_s = message_s(Transport(**RECOVERIES["uet"]), 12_500 * US, 128 << 20, 0.0, 1)
    for name, what in (
        ("ec-32-8", "EC(32,8)"),
        ("ec-8-2", "Uno's EC(8,2)"),
        ("xor-32-8", "XOR(32,8)"),
    ):
        host = Transport(**RECOVERIES[name])
        yield inside(
            f"W18-sim-{name}",
            f"{what} of packets of 4 KiB at 1e-3, 128 MiB: slowdown",
            (1.0, 1.25),
            slowdown(host, 128 << 20, 1e-3, few, plain_s),
            tag="S",
            kind="sim",
        )
        yield shown(
            f"W18-sim-{name}-1e-02",
            f"{what} of packets at 1e-2: slowdown",
            slowdown(host, 128 << 20, 1e-2, few, plain_s),
            tag="M",
        )


def _engines(catalog: Catalog) -> Iterator[SpanRow]:
    scenario = parse(TWO_SITES, name="two-sites.yaml")
    times_s = {
        engine: float(durations_s(simulate(scenario, catalog, engine=engine).runs[0].delivery)[0])
        for engine in ("packet", "flow")
    }
    times_s["analytic"] = _analytic_s(catalog)
    fastest = min(times_s.values())
    yield inside(
        "W33",
        "analytic, flow and packet engine on an empty span of 1,000 km: greatest difference",
        (0.0, 0.02),
        max(times_s.values()) / fastest - 1,
        tag="rule",
        kind="sim",
        reason=", ".join(f"{name} {1e3 * took:.4g} ms" for name, took in times_s.items()),
    )
    alone = simulate(parse(ONE_SITE, name="one-site.yaml"), catalog)
    beside = parse(
        TWO_SITES.split("traffic:")[0] + ONE_SITE[ONE_SITE.index("traffic:") :], name="x"
    )
    events = [one.runs[0].delivery.counters["events"] for one in (alone, simulate(beside, catalog))]
    yield exact(
        "W33-idle",
        "events more of a run inside a site that has an idle span",
        0,
        float(events[1] - events[0]),
        tag="rule",
        kind="sim",
    )


def _analytic_s(catalog: Catalog) -> float:
    """Return the message's time by the formulas of ``netloom span``: until it is acknowledged."""
    spec = parse(TWO_SITES, name="two-sites.yaml").spans[0]
    span = built_span(spec, catalog, key="spans[0]")
    packets = 1_000_000_000 / 4_096
    return lossless_s(round(packets), 4_096 * 8 / span.payload_bps, 2 * span.latency.total_s)
