"""A change for speed changes no result: runs of every transport, scheme and link control."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
import pytest
from wires import leaf_spine, transfers

from netloom.engines.packet import Ecn, PacketSettings, SwitchSettings, Transport, run_packets

if TYPE_CHECKING:
    from netloom.engines.delivery import Delivery

GOLDEN: Final = Path(__file__).parents[2] / "data" / "packet_golden.json"
US: Final = 1_000_000

TREE = leaf_spine(3, 4, 2)
# A shuffle twice over, an incast of eleven behind it, and a chain: collisions, pauses and waits.
PAIRS = [(i, (i + 5) % 12) for i in range(12)] * 2 + [(i, 11) for i in range(11)] + [(3, 4), (4, 9)]
WORK = transfers(
    PAIRS,
    [200_001] * 24 + [60_000] * 11 + [8_193, 70_000],
    start_ps=[0] * 24 + [3 * US] * 11 + [0, 0],
    waits=[()] * 35 + [(0,), (35, 24)],
)
BUSY = PacketSettings(
    congestion_control="dcqcn",
    ecn=Ecn(kmin_bytes=5_000, kmax_bytes=200_000, at_rate_bps=0),
    switch=SwitchSettings(buffer_bytes=2_000_000),
    transport=Transport(cnp_interval_ps=50 * US, timeout_ps=200 * US),
)
# One port for all: the messages of a pair share a connection.
SHARED = replace(WORK, source_port=np.full(len(WORK), 50_000, dtype=np.uint16))
REPEATS = Transport(recovery="selective", timeout_ps=100 * US)
SCHEMES: Final = ("none", "dcqcn", "dcqcn-firmware", "timely", "swift", "dctcp", "dctcp-rate")
MORE_SCHEMES: Final = ("hpcc", "ib-cc", "reno", "cubic", "nscc", "nscc-unscaled", "rttcc")


def settings() -> dict[str, PacketSettings]:
    """Return one run for each policy: its name, and its settings."""
    lossy = replace(BUSY, flow_control="lossy", transport=REPEATS)
    trimmed = replace(lossy, flow_control="trimming")
    of_scheme = {
        f"{recovery} {scheme}": replace(
            base, congestion_control=scheme, transport=_heard(base.transport, scheme)
        )
        for recovery, base in (("go-back-n", BUSY), ("selective", lossy))
        for scheme in SCHEMES + MORE_SCHEMES
    }
    of_balance = {
        f"balance {balance}": replace(BUSY, balance=balance)
        for balance in ("ecmp", "flowlet", "d-mod-k", "source", "adaptive", "cells")
    }
    of_spray = {
        f"spray {spray}": replace(trimmed, spray=spray, congestion_control="nscc")
        for spray in ("oblivious", "bitmap", "retiring", "mixed", "reps")
    }
    pulled = replace(trimmed, congestion_control="none", transport=_pulled())
    asking = replace(
        trimmed,
        congestion_control="nscc",
        spray="mixed",
        ecn=None,
        switch=SwitchSettings(buffer_bytes=2_000_000, queue_bytes=120_000),
        transport=replace(REPEATS, ack_every_bytes=16_384, measures_timeout=True, ask_rtts=3.0),
    )
    return {
        **of_scheme,
        **of_balance,
        **of_spray,
        "credits": replace(BUSY, flow_control="credits"),
        "credits adaptive": replace(BUSY, flow_control="credits", balance="adaptive"),
        "cut through": replace(
            BUSY, switch=SwitchSettings(buffer_bytes=2_000_000, cut_through=True)
        ),
        "tcp": replace(lossy, congestion_control="cubic", transport=_tcp()),
        "pulled": pulled,
        "pulled as by UET": replace(pulled, transport=_pulled_as_by_uet()),
        "go-back-n that asks": replace(
            BUSY, transport=replace(BUSY.transport, ask_every_packets=16)
        ),
        "go-back-n lossy": replace(
            BUSY,
            flow_control="lossy",
            switch=SwitchSettings(buffer_bytes=2_000_000, queue_bytes=100_000),
        ),
        "selective with few answers": replace(
            trimmed, congestion_control="nscc", transport=replace(REPEATS, ack_every_bytes=16_384)
        ),
        "selective that asks": asking,
        "shared go-back-n": BUSY,
        "shared selective": lossy,
        "shared selective that asks": asking,
        "shared pulled as by UET": replace(pulled, transport=_pulled_as_by_uet()),
    }


def _heard(transport: Transport, scheme: str) -> Transport:
    return replace(transport, telemetry=scheme == "hpcc")


def _tcp() -> Transport:
    return replace(REPEATS, disorder_packets=3, probe_rtts=2.0, max_doublings=9)


def _pulled() -> Transport:
    return Transport(recovery="pulled", timeout_ps=100 * US)


def _pulled_as_by_uet() -> Transport:
    return replace(
        _pulled(),
        ack_every_bytes=16_384,
        first_window_lapses=True,
        pull_bytes=16_384,
        pull_share=0.99,
    )


def fingerprint(delivery: Delivery) -> str:
    """Return a hash of every time, every link's bytes and every count but those of nothing."""
    found = hashlib.sha256()
    for column in (delivery.start_ps, delivery.finish_ps, delivery.link_bytes):
        found.update(column.astype("<i8").tobytes())
    counted = {name: count for name, count in delivery.counters.items() if count}
    found.update(json.dumps(sorted(counted.items())).encode())
    return found.hexdigest()[:16]


@pytest.mark.parametrize("name", sorted(settings()))
def test_a_run_is_what_it_was_to_the_last_bit(name: str) -> None:
    # To accept a change of results: write fingerprint() of each run into the file, and say in the
    # change log what moved, and why.
    golden = json.loads(GOLDEN.read_text())
    work = SHARED if name.startswith("shared") else WORK
    delivery = run_packets(TREE, work, settings()[name], seed=3)
    assert not delivery.partial
    assert fingerprint(delivery) == golden[name]


def test_every_golden_run_is_run() -> None:
    assert sorted(json.loads(GOLDEN.read_text())) == sorted(settings())
