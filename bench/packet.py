"""The packet simulator: rate and memory on permutations and rings."""

from __future__ import annotations

import resource
import statistics
import time

import numpy as np

from bench.fat_tree import fat_tree
from netloom.engines.packet import Ecn, PacketSettings, Transport, run_packets
from netloom.engines.packet.settings import SwitchSettings
from netloom.workload.dag import Label, to_transfers
from netloom.workload.exchange import ring
from netloom.workload.transfers import Transfers

_US = 1_000_000


def permutation(num_hosts: int, size_bytes: int, *, seed: int = 1) -> Transfers:
    """Every host sends to another, and receives from one."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(num_hosts)
    target = np.empty(num_hosts, dtype=np.int32)
    target[order] = np.roll(order, 1)
    none = np.zeros(num_hosts, dtype=np.int64)
    return Transfers(
        source=np.arange(num_hosts, dtype=np.int32),
        target=target,
        size_bytes=np.full(num_hosts, size_bytes, dtype=np.int64),
        start_ps=none,
        delay_ps=none,
        source_port=rng.integers(49152, 65536, num_hosts).astype(np.uint16),
        priority=np.zeros(num_hosts, dtype=np.uint8),
        job=np.zeros(num_hosts, dtype=np.int32),
        wait_offsets=np.zeros(num_hosts + 1, dtype=np.int64),
        waits=np.empty(0, dtype=np.int32),
    )


def rocev2_400g() -> PacketSettings:
    """DCQCN, PFC and ECN on, 4 KiB of payload, ECMP."""
    return PacketSettings(
        flow_control="pfc",
        congestion_control="dcqcn",
        ecn=Ecn(),
        switch=SwitchSettings(buffer_bytes=128_000_000),
        transport=Transport(cnp_interval_ps=50 * _US, timeout_ps=4_000 * _US),
    )


def permutation_in_a_fat_tree(radix: int, size_bytes: int) -> float:
    """Print and return the rate of packet-link traversals, data and acknowledgements."""
    wiring = fat_tree(radix, rate_bps=400e9, delay_ps=1_000_000)
    work = permutation(wiring.num_endpoints, size_bytes)
    begin_s, begin_cpu_s = time.perf_counter(), time.process_time()
    delivery = run_packets(wiring, work, rocev2_400g())
    wall_s, cpu_s = time.perf_counter() - begin_s, time.process_time() - begin_cpu_s
    rate = delivery.counters["link_traversals"] / cpu_s
    print(
        f"\npermutation of {wiring.num_endpoints} hosts, {size_bytes / 1e6:g} MB each, DCQCN, PFC "
        f"and ECN: {rate / 1e6:.2f} M packet-link traversals and "
        f"{delivery.counters['events'] / cpu_s / 1e6:.2f} M events a second of processor time "
        f"({cpu_s:.2f} s of it, {wall_s:.2f} s passed, {delivery.simulated_ps / 1e6:.0f} us "
        f"simulated), {delivery.counters['most_packets_in_flight']:,} packets in flight at most, "
        f"peak memory of the process {_peak_mib():.0f} MiB"
    )
    return rate


def permutations_of_1024_and_8192_hosts(*, repeats: int = 3) -> None:
    """The rate at the size that it is promised for, and at eight times the hosts.

    In turns, since others may be using the machine's caches; the medians count.
    """
    pairs = [
        (permutation_in_a_fat_tree(16, 2_000_000), permutation_in_a_fat_tree(32, 500_000))
        for _ in range(repeats)
    ]
    small, large = (statistics.median(rates) for rates in zip(*pairs, strict=True))
    print(
        f"\nmedians of {repeats}: {small / 1e6:.2f} M packet-link traversals a second at 1,024 "
        f"hosts, {large / 1e6:.2f} M at 8,192: {large / small:.0%} of it"
    )


def ring_all_reduce(num_hosts: int, size_bytes: int) -> None:
    """Print how long a ring all-reduce takes, packet by packet, on a fat tree of 1,024 hosts."""
    wiring = fat_tree(16, rate_bps=400e9, delay_ps=1_000_000)
    begin_s, begin_cpu_s = time.perf_counter(), time.process_time()
    dag = ring("all-reduce", [np.arange(num_hosts)], size_bytes)
    work = to_transfers([dag], [Label()], rng=np.random.default_rng(0))
    made_s = time.process_time() - begin_cpu_s
    delivery = run_packets(wiring, work, rocev2_400g())
    wall_s, cpu_s = time.perf_counter() - begin_s, time.process_time() - begin_cpu_s
    print(
        f"\nring all-reduce of {size_bytes >> 20} MiB over {num_hosts} endpoints "
        f"({len(work):,} transfers, {delivery.counters['link_traversals'] / 1e6:.3g} M packet-link "
        f"traversals): {cpu_s:.2f} s of processor time, {made_s:.2f} s of it to write down the "
        f"transfers; {wall_s:.2f} s passed; peak memory of the process {_peak_mib():.0f} MiB"
    )


def ring_of_32() -> None:
    """256 MiB over 32 GPUs."""
    ring_all_reduce(32, 256 << 20)


def ring_of_1024() -> None:
    """64 MiB over 1,024 GPUs."""
    ring_all_reduce(1024, 64 << 20)


def _peak_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
