"""Published measurements of collectives, and the machines they were made on.

A row says in free text what it ran on. This module turns that into a network of catalogue
parts, and says aloud what it had to assume where the row is silent.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from netloom.engines.base import bus_factor
from netloom.errors import SpecError
from netloom.spec.scenario import MAX_GPUS
from netloom.study.calibrate.benchmark_network import benchmark_network
from netloom.validation.collectives.machines import node_of
from netloom.validation.collectives.measurement import Measurement
from netloom.workload.collective import Collective, CollectiveKind, Group

if TYPE_CHECKING:
    from collections.abc import Mapping

    from netloom.fabric.network import Network
    from netloom.parts.load import Catalog
    from netloom.parts.parts import Node, Technology

__all__ = ["MeasuredCase", "case_of", "read_measurement"]

# A rack that is one scale-up domain has more GPUs than any machine; in an NVL72 rack 18 compute
# trays of four GPUs each, which run a host of their own (NVIDIA GB200 NVL72; recalled).
_LARGEST_TRAY = 16
_TRAY_GPUS = 4
_ASSUMED_SIZE_BYTES = 2.0**34
_MAX_NICS = 1024
# No message, time or rate that was ever measured lies outside, in bytes, us or GB/s.
_MIN, _MAX = 1e-9, 1e18
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_MAX_SHOWN = 60
_GBPS_OF_NAME = {"EDR": 100, "HDR": 200, "NDR": 400, "XDR": 800}
_INFINIBAND = {100: "infiniband-edr", 200: "infiniband-hdr", 400: "infiniband-ndr"}
_INFINIBAND[800] = "infiniband-xdr"
# What AWS puts in a node (ml-engineering, network/README.md: 50 GB/s a GPU in P5 and P6).
_AWS = (("P6", "8x400G EFA"), ("P5", "32x100G EFA"))
_EFA = {100: "efa-v2", 200: "efa-v3", 400: "efa-v4"}
_MAX_EFA_V1 = 4  # NICs of 100 Gb/s in a node of the first generation; 32 in the second
_TCP_RATES = (100, 200, 400)
_ROCE_RATES = (100, 200, 400, 800)
_PORT_RATES = frozenset({10, 25, 40, 50, 56, 100, 200, 400, 800})
_ETHERNET = ("ROCE", "ETHERNET", "GBE")


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredCase:
    """A measurement as something that can be predicted.

    Attributes:
        assumed: What the row does not say and we chose, a sentence each.
    """

    collective: Collective
    network: Network
    assumed: tuple[str, ...]


def read_measurement(row: Mapping[str, str | None], row_id: int, *, where: str) -> Measurement:
    """Return *row* of either table form: with ``nodes`` and ``scaleout`` columns, or without.

    Raises:
        SpecError: a column is missing, not a number, or out of any sensible range.
    """
    at = f"{where}: row {row_id}"
    kind = _kind(row, at=at)
    ranks = _count(row, "ranks", at=at)
    if ranks is None:
        raise SpecError(what=f"{at}: needs a number of 'ranks'", remedy="add that column")
    size = _number(row, "size_bytes", at=at)
    return Measurement(
        row_id=row_id,
        kind=kind,
        gpu=_text(row, "gpu", at=at),
        # The short form of the table is for one node.
        num_nodes=_count(row, "nodes", at=at) if "nodes" in row else 1,
        num_ranks=ranks,
        scale_up=_text(row, "scaleup", at=at),
        scale_out=_text(row, "scaleout", at=at),
        size_bytes=size,
        bus_gbps=_bus_gbps(row, kind, ranks, size, at=at),
        source=_text(row, "source", at=at) or where,
        notes=_text(row, "notes", at=at),
        algorithm=_text(row, "algo", at=at).lower(),
        table=where,
        cluster=_text(row, "cluster", at=at),
        technology=_text(row, "technology", at=at),
        gpus_per_node=_stated_count(row, "gpus_per_node", at=at),
        num_nics=_stated_count(row, "nics_per_node", at=at),
        nic_gbps=_stated(row, "nic_gbps", at=at),
        status=_text(row, "status", at=at).lower(),
    )


def _stated(row: Mapping[str, str | None], key: str, *, at: str) -> float:
    """Return the number in a cell; 0 where it is empty or 0, as a log without NICs has it."""
    text = _text(row, key, at=at)
    return 0.0 if text in {"", "0", "0.0"} else _number(row, key, at=at) or 0.0


def _stated_count(row: Mapping[str, str | None], key: str, *, at: str) -> int:
    return 0 if _stated(row, key, at=at) == 0 else _count(row, key, at=at) or 0


def _text(row: Mapping[str, str | None], key: str, *, at: str) -> str:
    """Return a cell without the spaces around it; empty when the row has none."""
    text = (row.get(key) or "").strip()
    if _CONTROL.search(text):
        raise SpecError(
            what=f"{at}: {key} {_shown(text)} holds control characters", remedy="take them out"
        )
    return text


def _shown(text: str) -> str:
    return repr(text if len(text) <= _MAX_SHOWN else text[:_MAX_SHOWN] + "...")


def _kind(row: Mapping[str, str | None], *, at: str) -> CollectiveKind:
    """Return the collective of a row, whichever way its name is spelt: ``alltoall_perf``."""
    text = _text(row, "collective", at=at)
    letters = "".join(filter(str.isalpha, text.casefold())).removesuffix("perf")
    for kind in CollectiveKind:
        if letters == kind.value.replace("_", ""):
            return kind
    known = ", ".join(kind.value for kind in CollectiveKind)
    raise SpecError(what=f"{at}: needs a 'collective', not {_shown(text)}", remedy=f"use {known}")


def _number(row: Mapping[str, str | None], key: str, *, at: str) -> float | None:
    """Return the finite number above 0 in a cell; None when it is empty."""
    text = _text(row, key, at=at)
    if not text:
        return None
    remedy = "say how many" if key == "ranks" else "leave it empty when unknown"
    try:
        number = float(text)
    except ValueError as error:
        raise SpecError(
            what=f"{at}: {key} {_shown(text)} is not a number", remedy=remedy
        ) from error
    if not _MIN <= number <= _MAX:  # nan compares false
        raise SpecError(
            what=f"{at}: {key} {_shown(text)} is not from {_MIN:g} to {_MAX:g}", remedy=remedy
        )
    return number


def _count(row: Mapping[str, str | None], key: str, *, at: str, ge: int = 1) -> int | None:
    """Return the whole number in a cell, also as a spreadsheet writes it (``8.0``)."""
    number = _number(row, key, at=at)
    if number is None or (number.is_integer() and ge <= number <= MAX_GPUS):
        return None if number is None else int(number)
    shown = _shown(_text(row, key, at=at))
    raise SpecError(
        what=f"{at}: {key} {shown} is not a whole number from {ge} to {MAX_GPUS}",
        remedy="correct it",
    )


def _bus_gbps(
    row: Mapping[str, str | None],
    kind: CollectiveKind,
    ranks: int,
    size: float | None,
    *,
    at: str,
) -> float:
    time_us = _number(row, "time_us", at=at)
    if time_us and size:
        group = Group(size=ranks, per_node=ranks)
        asked = Collective(kind=kind, size_bytes=size, group=group)
        return bus_factor(asked) * size / (time_us * 1e3)
    bus = _number(row, "busbw_GBps", at=at)
    if not bus:
        raise SpecError(
            what=f"{at}: has neither time_us with size_bytes nor busbw_GBps above 0",
            remedy="add one",
        )
    return bus


def case_of(row: Measurement, catalog: Catalog) -> MeasuredCase:
    """Return what was measured in *row* as a collective on a network of catalogue parts.

    Raises:
        SpecError: the row cannot be predicted: the catalogue has no such GPU or NIC, or the
            ranks are not on the nodes.
    """
    node, assumed = node_of(row, catalog)
    num_nodes = row.num_nodes
    if num_nodes is None:
        num_nodes = max(2 if row.scale_out else 1, -(-row.num_ranks // node.num_gpus))
        assumed = (*assumed, f"Nodes are not stated; {num_nodes} assumed.")
    elif node.num_gpus > _LARGEST_TRAY:
        num_nodes, about = _racks(row, num_nodes, node)
        assumed = (*assumed, *(() if row.gpus_per_node == _TRAY_GPUS else about))
    _check_ranks(row, num_nodes, node)
    node, technology, more = _scale_out(row, node, num_nodes, catalog)
    size = row.size_bytes
    if size is None:
        size = _ASSUMED_SIZE_BYTES
        more = (*more, "The size is not stated; 16 GiB assumed.")
    group = Group(size=row.num_ranks, per_node=-(-row.num_ranks // num_nodes))
    return MeasuredCase(
        collective=Collective(kind=row.kind, size_bytes=size, group=group),
        network=benchmark_network(node, technology, num_nodes, catalog),
        assumed=(*assumed, *more),
    )


def _racks(row: Measurement, stated: int, node: Node) -> tuple[int, tuple[str, ...]]:
    """Return how many racks the *stated* nodes are, each of them a rack or a tray of one.

    Raises:
        SpecError: the ranks could be on either.
    """
    each = row.num_ranks / stated
    if stated == 1 or each > _TRAY_GPUS:
        return stated, ()
    if each < _TRAY_GPUS:
        raise SpecError(
            what=(
                f"{row.num_ranks} ranks on {stated} nodes of {node.name} can be on racks "
                "or on trays"
            ),
            remedy=(
                f"give {_TRAY_GPUS} ranks for each tray, or more for each rack, or leave "
                "nodes empty"
            ),
        )
    racks = -(-row.num_ranks // node.num_gpus)
    about = f"{stated} nodes of {_TRAY_GPUS} ranks are trays; {racks} x {node.name} assumed."
    return racks, (about,)


def _check_ranks(row: Measurement, num_nodes: int, node: Node) -> None:
    if row.num_ranks == 1:
        raise SpecError(what="a single rank moves nothing", remedy="measure two or more")
    if not num_nodes <= row.num_ranks <= num_nodes * node.num_gpus:
        raise SpecError(
            what=(
                f"{row.num_ranks} ranks do not fill {num_nodes} x {node.name} of "
                f"{node.num_gpus} GPUs"
            ),
            remedy="see nodes and ranks",
        )


def _scale_out(
    row: Measurement, node: Node, num_nodes: int, catalog: Catalog
) -> tuple[Node, Technology, tuple[str, ...]]:
    """Return the node with the row's NICs, the technology, and what was assumed."""
    text = f"{row.technology} {row.scale_out or _aws(row.gpu)}".strip() if num_nodes > 1 else ""
    count, gbps = _nics(text)
    if num_nodes > 1:
        count, gbps = row.num_nics or count, int(row.nic_gbps) or gbps
    if num_nodes > 1 and row.machine_gpus and node.num_gpus > _LARGEST_TRAY:
        count = count and count * -(-node.num_gpus // row.machine_gpus)  # a rack of such trays
    assumed: tuple[str, ...] = ()
    if num_nodes > 1 and (count is None or gbps is None):
        assumed = ("The NICs are not stated; those of the vendor's own node assumed.",)
    rate_gbps = gbps or int(catalog.nics[node.nic].rate_bps / 1e9)
    technology, more = _technology(text, rate_gbps, count, catalog)
    update = {"num_nics": count or node.num_nics, "nic": technology.nic}
    return node.model_copy(update=update), technology, (*assumed, *more)


def _technology(
    text: str, rate_gbps: int, count: int | None, catalog: Catalog
) -> tuple[Technology, tuple[str, ...]]:
    """Return what *text* says joins the nodes, at the rate of its NICs.

    Raises:
        SpecError: nothing like it runs at that rate.
    """
    upper = text.upper()
    rates: tuple[int, ...] = ()
    assumed: tuple[str, ...] = ()
    if "TCPX" in upper:
        name = "tcpxo-200g" if "TCPXO" in upper else "tcpx-200g"
    elif "TCP" in upper or "SOCKET" in upper or "IPOIB" in upper:
        name, rates = "tcp-{}g", _TCP_RATES
    elif "EFA" in upper:
        first = "V1" in upper or (rate_gbps == _TCP_RATES[0] and 0 < (count or 0) <= _MAX_EFA_V1)
        name = "efa-v1" if first else _EFA.get(rate_gbps, "")
    elif "SLINGSHOT" in upper:
        name = "slingshot-11"
    elif any(word in upper for word in _ETHERNET):
        name, rates = "rocev2-{}g", _ROCE_RATES
    else:
        name = _INFINIBAND.get(rate_gbps, "infiniband-ndr")
        if rate_gbps not in _INFINIBAND:
            assumed = (f"No InfiniBand has ports of {rate_gbps} Gb/s; NDR assumed.",)
    if rates:
        return _at_rate(name, rate_gbps, rates, catalog), assumed
    if name not in catalog.technologies:
        raise SpecError(what=f"no technology runs NICs of {rate_gbps} Gb/s", remedy="see scaleout")
    return catalog.technologies[name], assumed


def _at_rate(name: str, rate_gbps: int, rates: tuple[int, ...], catalog: Catalog) -> Technology:
    """Return the technology at *rate_gbps*, or the slowest of it held to a slower port."""
    if rate_gbps not in _PORT_RATES or rate_gbps > rates[-1]:
        raise SpecError(what=f"no technology runs NICs of {rate_gbps} Gb/s", remedy="see scaleout")
    near = next(rate for rate in rates if rate >= rate_gbps)
    found = catalog.technologies[name.format(near)]
    return found if near == rate_gbps else found.model_copy(update={"rate_bps": rate_gbps * 1e9})


def _aws(gpu: str) -> str:
    """Return the NICs of an AWS instance that the GPU column names, else nothing."""
    return next((nics for name, nics in _AWS if f"AWS {name}" in gpu.upper()), "")


def _nics(text: str) -> tuple[int | None, int | None]:
    """Return the NICs of a node and their Gb/s as free text gives them."""
    upper = text.upper()
    count = re.search(r"(\d+)\s*(?:X|NIC)", upper)
    if count and (len(count[1]) > 4 or not 1 <= int(count[1]) <= _MAX_NICS):
        raise SpecError(
            key="scaleout",
            what=f"{_shown(count[1])} is no number of NICs",
            remedy=f"give 1 to {_MAX_NICS}",
        )
    named = next((gbps for name, gbps in _GBPS_OF_NAME.items() if name in upper), None)
    # In the text's own case: 400Gb/s is a rate in bits, 24GB/s is not. Then "8x400".
    rate = re.search(r"(\d{2,4})\s*G(?!B/s)", text) or re.search(r"X\s*(\d{3,4})\b", upper)
    gbps = int(rate[1]) if rate else named
    return (int(count[1]) if count else None), gbps
