"""Results of measuring programs, in base units and each with the line it stands in."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from netloom.formats.log_lines import BadLines

__all__ = ["CollectiveTiming", "PointToPoint", "PointToPointLog", "collective_called"]

# By the name without case, blanks and underscores; OSU's titles are among them.
_COLLECTIVES: Final = {
    "allreduce": "all_reduce",
    "allgather": "all_gather",
    "allgatherv": "all_gather",
    "reducescatter": "reduce_scatter",
    "broadcast": "broadcast",
    "bcast": "broadcast",
    "alltoall": "all_to_all",
    "all-to-allpersonalizedexchange": "all_to_all",
    "alltoallv": "all_to_all_v",
    "sendrecv": "send_recv",
    "reduce": "reduce",
    "gather": "gather",
    "scatter": "scatter",
    "hypercube": "hypercube",
    "barrier": "barrier",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectiveTiming:
    """One measured collective.

    Attributes:
        collective: ``all_reduce``, ``all_to_all`` ... as netloom calls it; empty where the output
            neither says nor shows which it was.
        size_bytes: Of the buffer, as the program counts it.
        dtype: ``float``, ``bfloat16`` ...; empty where it is not said.
        redop: ``sum``, ``max``, ``none`` ...; empty where it is not said.
        in_place: Whether input and output share a buffer.
        time_s: Of one operation.
        algorithm_bps: Algorithm bandwidth in bits a second; None where it is not printed.
        bus_bps: Bus bandwidth, likewise.
        num_wrong: Wrong values; None where they were not checked.
        num_ranks: That took part; 0 where the output does not say.
        num_nodes: Hosts they ran on; likewise.
        dip: Whether it took 15 % longer than a larger message of the same test, as the first size
            does that was not warmed up.
        line: Where it stands, from 1; of a file in JSON, the number of the result.
    """

    collective: str
    size_bytes: int
    dtype: str
    redop: str
    in_place: bool
    time_s: float
    algorithm_bps: float | None
    bus_bps: float | None
    num_wrong: int | None
    num_ranks: int
    num_nodes: int
    dip: bool
    line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PointToPoint:
    """One measurement between two ends.

    Attributes:
        program: ``ib_write_bw``, ``osu_latency``, ``sockperf``, ``iperf3`` ...
        operation: ``write``, ``send``, ``read``, ``atomic``, ``mpi``, ``tcp`` or ``udp``.
        size_bytes: Of a message; None where bytes stream or the size is not said.
        latency_s: One way, the median where it is printed, else the mean; of a read or an atomic,
            there and back. None where a rate was measured.
        latency_mean_s: The mean; None where it is not printed.
        latency_p99_s: The 99th percentile, likewise.
        rate_bps: Bits a second, of both ways together where *bidirectional*; None where a
            latency was measured.
        message_rate: Messages a second; None where it is not printed.
        bidirectional: Whether both ends sent at once.
        num_streams: Queue pairs, connections or pairs of processes; 0 where it is not said.
        device: ``mlx5_0``; empty where it is not said.
        link: ``IB`` or ``Ethernet``, likewise.
        gpu_memory: Whether a buffer was in a GPU's memory.
        line: Where it stands, from 1.
    """

    program: str
    operation: str
    size_bytes: int | None
    latency_s: float | None = None
    latency_mean_s: float | None = None
    latency_p99_s: float | None = None
    rate_bps: float | None = None
    message_rate: float | None = None
    bidirectional: bool = False
    num_streams: int = 0
    device: str = ""
    link: str = ""
    gpu_memory: bool = False
    line: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PointToPointLog:
    """What a log of such measurements says; rows beyond a bound are counted as bad."""

    rows: tuple[PointToPoint, ...]
    bad: BadLines


@lru_cache(maxsize=256)
def collective_called(name: str) -> str:
    """Return netloom's name of a collective; *name* itself where it knows none."""
    key = name.lower().replace("_", "").replace(" ", "")
    return _COLLECTIVES.get(key, name)
