"""InfiniBand's congestion control: off unless asked for, and marks where congestion begins."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from wires import leaf_spine, transfers

from netloom.engines.packet import Recording, run_packets
from netloom.engines.packet.presets import settings_for
from netloom.parts.load import load_catalog

NDR = load_catalog().technology("infiniband-ndr")
INCAST = transfers([(8 + i, 0) for i in range(7)], 2_000_000)
TREE = leaf_spine(2, 8, 2, rate_bps=400e9, delay_ps=50_000)
ROOT_LINK = 1  # from the first leaf to host 0


def test_nobody_turns_it_on_by_itself() -> None:
    # opensm -c writes congestion_control FALSE (OpenSM 3.3.23).
    assert settings_for(NDR).congestion_control == "none"
    assert settings_for(NDR).ecn is None
    assert settings_for(NDR, congestion_control="ib-cc").ecn is not None


def test_it_marks_every_eleventh_packet_or_so_and_slows_senders_down() -> None:
    # While Kmax was a terabyte the share that was marked rose from 0 at Kmin to a millionth: none.
    asked = settings_for(NDR, congestion_control="ib-cc", connections=1)
    controlled = run_packets(TREE, INCAST, asked, seed=1)
    alone = run_packets(TREE, INCAST, settings_for(NDR, connections=1), seed=1)
    assert controlled.counters["cnps"] > 20
    assert controlled.counters["credit_stalls"] < alone.counters["credit_stalls"] / 4
    # Senders that do not listen: ten packets between marks on average, and some more marks on the
    # way there while credits last.
    deaf = replace(asked, congestion_control="none")
    found = run_packets(TREE, INCAST, deaf, seed=1).counters
    assert found["marks"] / found["data_packets"] == pytest.approx(1 / 11, rel=0.25)


def test_ports_that_wait_for_credits_do_not_mark() -> None:
    # 3,423 packets over the two uplinks, which soon wait for credits, and one port to the receiver.
    deaf = replace(
        settings_for(NDR, congestion_control="ib-cc", connections=1), congestion_control="none"
    )
    trace = run_packets(TREE, INCAST, deaf, seed=1, watch=Recording(max_trace=100_000)).tables[
        "trace"
    ]
    data = (trace["form"] == "data") & trace["marked"].astype(bool)
    links, counts = np.unique(trace["link"][data].astype(np.int64), return_counts=True)
    marked = dict(zip(links.tolist(), counts.tolist(), strict=True))
    others = sum(count for link, count in marked.items() if link != ROOT_LINK)
    assert marked[ROOT_LINK] > 250
    assert others < marked[ROOT_LINK] / 10
