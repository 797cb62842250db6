"""Messages of NCCL that tell of its setup: their forms, and what one of them says."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

__all__ = ["NcclAdapter", "TunerChoice", "TunerEstimate", "choice_of", "columns_of", "host_of"]

# In the order of NCCL's numbers (src/include/nccl_common.h); older versions log the number.
ALGORITHMS: Final = ("Tree", "Ring", "CollNetDirect", "CollNetChain", "NVLS", "NVLSTree", "PAT")
PROTOCOLS: Final = ("LL", "LL128", "Simple")
COLLECTIVES: Final = {
    "AllReduce": "all_reduce",
    "AllGather": "all_gather",
    "ReduceScatter": "reduce_scatter",
    "Broadcast": "broadcast",
    "Reduce": "reduce",
    "AlltoAll": "all_to_all",
    "AllToAll": "all_to_all",
    "SendRecv": "send_recv",
    "Send": "send_recv",
    "Recv": "send_recv",
    "Gather": "gather",
    "Scatter": "scatter",
}

VERSION: Final = re.compile(r"[NR]CCL version\s?:?\s?(?P<version>\d[\w.+-]{2,60})", re.ASCII)
USING: Final = re.compile(
    r"\[(?P<index>\d{1,4})\](?P<name>[A-Za-z][\w.-]{0,40})"
    r"(?::\d{1,4}/(?P<link>[A-Za-z]\w{0,12}))?",
    re.ASCII,
)
VIRTUAL: Final = re.compile(
    r"Made virtual device \[(?P<index>\d{1,4})\] name=(?P<name>\S{1,40}) speed=(?P<speed>\d{1,9})",
    re.ASCII,
)
SPEED: Final = re.compile(r"\+ NET\[(?P<speed>\d{1,6}\.\d)\] - NET/(?P<index>\d{1,4})", re.ASCII)
GPUDIRECT: Final = re.compile(
    r"GPU Direct RDMA(?: \((?P<how>[\w-]{1,20})\))? (?P<state>[Ee]nabled|[Dd]isabled)"
    r"(?: for (?:HCA|GPU) (?P<index>\d{1,4}))?(?:[^']{0,60}'(?P<name>[^']{1,40})')?",
    re.ASCII,
)
PLUGIN: Final = re.compile(
    r"(?:Loaded net plugin|Using) (?P<name>[\w .-]{2,40}?)(?: \(v\d{1,3}\))?$", re.ASCII
)
PROVIDER: Final = re.compile(
    r"(?i:selected provider) is (?P<name>[\w;-]{1,40})"
    r"(?:[^(]{0,60}\(found (?P<num>\d{1,5}) nics\))?",
    re.ASCII,
)
INITIALIZING: Final = re.compile(
    r"Initializing network (?P<name>[\w-]{1,40}), version: (?P<version>[\w.-]{1,40})", re.ASCII
)
# "Channel 00/0 : 7[7] -> 8[0] [send] via NET/IB/0/GDRDMA"; before 2.5 "Ring 00 : 7 -> 8 ...".
CONNECTION: Final = re.compile(
    r" via NET/(?P<name>[^/]{1,40})/(?P<index>\d{1,4})(?:\(\d{1,6}\))?(?P<rest>(?:/\w{1,20}){0,4})",
    re.ASCII,
)
RING: Final = re.compile(
    r"Channel (?P<channel>\d{1,4})(?:/\d{1,4})?\s{1,4}:\s{1,8}"
    r"(?P<ranks>\d{1,7}(?:\s{1,8}\d{1,7}){1,2000})\s{0,8}$",
    re.ASCII,
)
RINGS_USE: Final = re.compile(r"use ring PXN (?P<pxn>\d) GDR (?P<gdr>\d)", re.ASCII)
COMMUNICATOR: Final = re.compile(
    r"comm \S{1,40} rank \d{1,9} n[rR]anks (?P<ranks>\d{1,9})"
    r"(?: nNodes (?P<nodes>\d{1,9}) localRanks (?P<local>\d{1,9}) localRank \d{1,9}"
    r"(?: MNNVL (?P<mnnvl>\d))?)?",
    re.ASCII,
)
VARIABLE: Final = re.compile(
    r"(?P<name>[NR]CCL_\w{1,60}) set (?:by environment )?to (?P<value>.{0,200})", re.ASCII
)
CHANNELS: Final = re.compile(
    r"(?P<coll>\d{1,5}) coll channels, (?:(?P<collnet>\d{1,5}) collnet channels, )?"
    r"(?:(?P<nvls>\d{1,5}) nvls channels, )?(?P<p2p>\d{1,5}) p2p channels"
    r"(?:, (?P<peer>\d{1,5}) p2p channels per peer)?",
    re.ASCII,
)
CHOICE: Final = re.compile(
    r"(?:(?P<what>\w{2,20}): )?\s{0,20}(?P<size>\d{1,18}) Bytes -> Algo (?P<algorithm>\w{1,20}) "
    r"proto (?P<protocol>\w{1,10})(?: time (?P<time>[\d.]{1,20}))?"
    r"(?: channel\{Lo\.\.Hi\}=\{(?P<low>\d{1,4})\.\.(?P<high>\d{1,4})\})?",
    re.ASCII,
)
ESTIMATE: Final = re.compile(
    r"\s{0,12}(?P<latency>\d{1,9}(?:\.\d{0,6})?)/\s{0,12}(?P<rate>\d{1,9}(?:\.\d{0,6})?)\s{0,8}",
    re.ASCII,
)
HEAD: Final = re.compile(r"(?P<host>[^\s:\]>]{1,255}):\d{1,10}:\d{1,10} \[", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class NcclAdapter:
    """A NIC that NCCL uses.

    Attributes:
        index: NCCL's number of it.
        name: ``mlx5_0``, ``eth1``.
        link: ``IB``, ``RoCE``; empty where it is not said.
        gpudirect: Whether GPUs and it exchange data directly; None where it is not said.
        rate_bps: As it is said; None where it is not.
    """

    index: int
    name: str
    link: str = ""
    gpudirect: bool | None = None
    rate_bps: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TunerChoice:
    """What a collective of a size ran with.

    Attributes:
        collective: As netloom calls it; empty where the version does not say.
        size_bytes: As NCCL counts it: the count times the size of an element.
        algorithm: ``Ring``, ``Tree``, ``NVLS``, ``NVLSTree`` ...
        protocol: ``LL``, ``LL128`` or ``Simple``.
        num_channels: That it uses; 0 where the version does not say.
        expected_s: What the tuner expects; None where the version does not say.
    """

    collective: str
    size_bytes: int
    algorithm: str
    protocol: str
    num_channels: int
    expected_s: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TunerEstimate:
    """Latency and algorithm bandwidth that the tuner expects of one way to run a collective."""

    collective: str
    algorithm: str
    protocol: str
    latency_s: float
    algorithm_bps: float


@lru_cache(maxsize=65_536)
def host_of(head: str) -> str:
    """Return the host before a message; empty where none is logged."""
    found = HEAD.search(head)
    return found["host"] if found else ""


def choice_of(text: str) -> TunerChoice | None:
    """Return what a message says a collective runs with; None where it is cut."""
    found = CHOICE.match(text)
    if found is None:
        return None
    low, high = found["low"], found["high"]
    return TunerChoice(
        collective=COLLECTIVES.get(found["what"] or "", ""),
        size_bytes=int(found["size"]),
        algorithm=_called(found["algorithm"], ALGORITHMS),
        protocol=_called(found["protocol"], PROTOCOLS),
        num_channels=int(high) - int(low) + 1 if low is not None else 0,
        expected_s=_seconds(found["time"]),
    )


def _seconds(time_us: str | None) -> float | None:
    try:
        return float(time_us) * 1e-6 if time_us else None
    except ValueError:  # 1.2.3
        return None


def _called(word: str, names: tuple[str, ...]) -> str:
    """Return NCCL's name of what it logs as a number or in capitals."""
    if word.isdigit() and int(word) < len(names):
        return names[int(word)]
    return next((name for name in names if name.upper() == word.replace("_", "").upper()), word)


def columns_of(text: str, before: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    """Return algorithm and protocol of the columns of the tuner's table.

    Since 2.19 a line has the algorithms, and the next the protocols of each.
    """
    head, *cells = (cell.strip() for cell in text.split("|"))
    cells = [cell for cell in cells if cell]
    if head == "Algorithm":
        return tuple((_called(cell, ALGORITHMS), "") for cell in cells)
    if head == "Protocol":
        algorithms = tuple(dict.fromkeys(name for name, _ in before))
        return tuple((name, protocol) for name in algorithms for protocol in PROTOCOLS)
    pairs = (cell.partition("/") for cell in cells)
    return tuple(
        (_called(one.strip(), ALGORITHMS), _called(other.strip(), PROTOCOLS))
        for one, _, other in pairs
    )


def estimates_of(text: str, columns: tuple[tuple[str, str], ...]) -> list[TunerEstimate]:
    """Return what a row of the tuner's table says; ways with bandwidth 0 are switched off."""
    name, *cells = text.split("|")
    collective = COLLECTIVES.get(name.strip(), "")
    found = []
    for (algorithm, protocol), cell in zip(columns, cells, strict=False):
        estimate = ESTIMATE.fullmatch(cell)
        if collective and protocol and estimate and float(estimate["rate"]) > 0:
            found.append(
                TunerEstimate(
                    collective=collective,
                    algorithm=algorithm,
                    protocol=protocol,
                    latency_s=float(estimate["latency"]) * 1e-6,
                    algorithm_bps=float(estimate["rate"]) * 8e9,
                )
            )
    return found
