"""NVUE: what its REST API says of interfaces, as NVIDIA's documentation of Cumulus Linux prints it.

``GET /nvue_v1/interface?rev=operational`` is an object by interface; an interface that is up has
``"state": {"up": {}}``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from netloom.ops.observe.devices import DeviceReport, PortValue, mapping_of, number_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["report_of"]

MAX_ROWS: Final = 10_000
_STATS: Final = {
    "in-bytes": "received_bytes",
    "in-pkts": "received_packets",
    "in-errors": "receive_errors",
    "in-drops": "receive_discards",
    "out-bytes": "sent_bytes",
    "out-pkts": "sent_packets",
    "out-errors": "send_errors",
    "out-drops": "send_discards",
}
_SPEED: Final = re.compile(r"(?P<value>\d{1,6})(?P<unit>[MG])", re.ASCII)
_UNITS: Final = {"M": 1e6, "G": 1e9}


def report_of(answer: Any) -> DeviceReport:
    """Return what a switch says of its interfaces; what is not there is passed over."""
    ports = mapping_of(answer)
    values = [
        one
        for port in list(ports)[:MAX_ROWS]
        for one in _port(port, mapping_of(ports, port, "link"))
    ]
    return DeviceReport(values=values, missing="" if values else "it shows no interfaces")


def _port(port: str, link: Mapping[str, Any]) -> Iterator[PortValue]:
    state = link.get("state")
    word = next(iter(state), "") if isinstance(state, dict) else state
    if word in ("up", "down"):
        yield PortValue(port, "link_up", float(word == "up"))
    if (mtu := number_of(link.get("mtu"))) is not None:
        yield PortValue(port, "mtu_bytes", mtu)
    speed = _SPEED.fullmatch(str(link.get("speed"))[:20])
    if speed and word == "up":
        yield PortValue(port, "rate_bps", int(speed["value"]) * _UNITS[speed["unit"]])
    stats = mapping_of(link, "stats")
    for key, metric in _STATS.items():
        if (count := number_of(stats.get(key))) is not None:
            yield PortValue(port, metric, count)
