"""Input-queued switches: a buffer for each ingress link, and ports that serve inputs in turn."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from wires import transfers, wiring

from netloom.engines.packet import PacketSettings, SwitchSettings, Transport, run_packets
from netloom.errors import InfeasibleError, SpecError

US = 1_000_000
PACKET_BYTES = 4096 + 62
# Hosts 0 and 1 at 100 Gb/s, 2 at half of that, all on switch 3.
SLOW_END = wiring(3, [(0, 3), (1, 3), (2, 3)], rate_bps=[100e9, 100e9, 50e9])
TEN = transfers([(0, 2)], 10 * 4096)


def inputs(ingress_bytes: int, *, in_turn: bool = False, control: str = "lossy") -> PacketSettings:
    return PacketSettings(
        flow_control=control,
        switch=SwitchSettings(ingress_bytes=ingress_bytes, input_turns=in_turn),
        transport=Transport(timeout_ps=100 * US),
    )


# A packet comes in each T and leaves each 2 T. When the tenth is there, at 9 T, five have begun to
# leave (0, 2, 4, 6, 8 T) and four wait: five is the most that the link holds.
@pytest.mark.parametrize(("ingress_bytes", "drops"), [(5 * PACKET_BYTES, 0), (4 * PACKET_BYTES, 1)])
def test_an_ingress_link_drops_what_its_own_buffer_does_not_hold(
    ingress_bytes: int, drops: int
) -> None:
    assert run_packets(SLOW_END, TEN, inputs(ingress_bytes)).counters["drops"] == drops


def test_a_full_ingress_link_costs_another_nothing() -> None:
    # Host 1 sends a packet when host 0 has filled what it may: it comes by an empty link, and waits
    # for one packet at most. Up, down and the answer: 4 us of cables and three packets' time.
    both = transfers([(0, 2), (1, 2)], [400_000, 4096], start_ps=[0, 10 * US])
    apart = inputs(5 * PACKET_BYTES, in_turn=True)
    delivery = run_packets(SLOW_END, both, apart, until_ps=10_000 * US)
    assert delivery.counters["drops"] > 0
    assert delivery.finish_ps[1] - 10 * US < 4 * US + 3 * 668_480


def test_a_port_serves_its_inputs_in_turn() -> None:
    # Twenty packets from host 0, one from host 1 when nineteen have come in and nine wait.
    both = transfers([(0, 2), (1, 2)], [20 * 4096, 4096], start_ps=[0, 19 * 334_240])
    packet_ps = 668_480  # 4178 bytes on the wire at 50 Gb/s
    first_come, in_turn = (
        run_packets(SLOW_END, both, inputs(1 << 30, in_turn=turns)).finish_ps[1]
        for turns in (False, True)
    )
    waited = (first_come - in_turn) / packet_ps
    assert waited == pytest.approx(9, abs=1)


def test_an_ingress_link_pauses_at_its_own_threshold_and_loses_nothing() -> None:
    settings = inputs(60_000, in_turn=True, control="pfc")
    delivery = run_packets(SLOW_END, transfers([(0, 2), (1, 2)], 400_000), settings)
    assert delivery.counters["drops"] == 0
    assert set(np.unique(delivery.tables["pauses"]["link"]).tolist()) == {0, 2}
    roomy = replace(settings, switch=replace(settings.switch, ingress_bytes=1 << 20))
    assert run_packets(SLOW_END, transfers([(0, 2), (1, 2)], 400_000), roomy).counters["drops"] == 0


def test_a_buffer_smaller_than_its_headroom_is_refused() -> None:
    with pytest.raises(InfeasibleError, match="ingress_bytes: 20000 bytes, and headroom takes"):
        run_packets(SLOW_END, TEN, inputs(20_000, control="pfc"))


def test_trimming_switches_keep_their_own_queues() -> None:
    with pytest.raises(SpecError, match="use ingress_bytes and input_turns with pfc or lossy"):
        inputs(60_000, control="trimming")
