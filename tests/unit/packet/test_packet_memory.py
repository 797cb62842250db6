"""What a run holds in memory: less than 1 KiB for a packet in flight, and for an idle flow."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

STATUS: Final = Path("/proc/self/status")
pytestmark = pytest.mark.skipif(not STATUS.exists(), reason="needs Linux's /proc/self/status")

# Each in a process of its own, in which blocks are taken from the system and given back to it:
# otherwise a run may live on memory that an earlier one has left.
ENVIRONMENT: Final = {**os.environ, "MALLOC_MMAP_THRESHOLD_": "65536"}
COMMON: Final = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
from pathlib import Path
from wires import star, transfers
from netloom.engines.native import PacketSimulation
from netloom.engines.packet import PacketSettings, Transport, Recording
from netloom.engines.packet.lower import lowered

def peak_bytes():
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * int(next(line for line in lines if line.startswith("VmHWM")).split()[1])

def made(wiring, work, scheme, flow_control, recovery, **more):
    transport = Transport(recovery=recovery, timeout_ps=0, telemetry=scheme == "hpcc")
    settings = PacketSettings(
        flow_control=flow_control, congestion_control=scheme, transport=transport, **more)
    low = lowered(wiring, work, settings, seed=0, faults=(), watch=Recording())
    before = peak_bytes()
    return before, PacketSimulation(low.arrays, low.numbers, low.names, low.parameters)
"""
SCHEMES: Final = {
    "dcqcn": '"dcqcn", "lossy", "go-back-n"',
    "hpcc": '"hpcc", "lossy", "go-back-n"',
    "nscc": '"nscc", "trimming", "selective", spray="reps"',
}


def measured(script: str) -> float:
    """Return the number that *script* prints."""
    found = subprocess.run(  # noqa: S603  (our own script)
        [sys.executable, "-c", COMMON + script],
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=True,
    )
    return float(found.stdout)


@pytest.mark.parametrize("scheme", sorted(SCHEMES))
def test_a_flow_that_has_not_begun_takes_less_than_a_kibibyte(scheme: str) -> None:
    script = f"""
work = transfers([(0, 1)] * 200_000, 4096, start_ps=10**9)
before, run = made(star(2), work, {SCHEMES[scheme]})
assert run.unfinished() == 200_000
print((peak_bytes() - before) / 200_000)
"""
    # At least the two ends of a flow and its seven columns: the measurement can fail both ways.
    assert 150 < measured(script) < 1024


def test_a_packet_in_flight_takes_less_than_a_kibibyte() -> None:
    # 400 Gb/s over 5 ms of cable twice: 250 MB each, 61,000 packets of 4 KiB on either link.
    script = f"""
work = transfers([(0, 1)], 10**9)
before, run = made(star(2, rate_bps=400e9, delay_ps=5 * 10**9), work, {SCHEMES["dcqcn"]},)
run.run(9 * 10**9, 1 << 40)
in_flight = run.counters()["packets_in_flight"]
assert in_flight > 100_000, in_flight
print((peak_bytes() - before) / in_flight)
"""
    assert 64 <= measured(script) < 1024  # a packet is 64 bytes
