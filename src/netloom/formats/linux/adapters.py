"""What a host's programs print of its adapters: ``ethtool -S``, ``ethtool -m``, ``mlxlink --json``.

One shell command prints all of it, each section behind a line of its own that begins with
:data:`MARK`. Labels of ``ethtool -m`` are those of ethtool's own source (sff-common.c, qsfp.c);
keys of mlxlink those of mstflint's (mlxlink_commander.cpp).
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

from netloom.ops.observe.devices import DeviceReport, PortValue, mapping_of
from netloom.ops.observe.ethtool_stats import ethtool_metric

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["ETHTOOL_SCRIPT", "MARK", "MLXLINK_SCRIPT", "ethtool_report", "mlxlink_report"]

MARK: Final = "@netloom@"
# Interfaces with a device behind them: none that is virtual.
ETHTOOL_SCRIPT: Final = f"""
for path in /sys/class/net/*; do
  name=${{path##*/}}
  [ -e "$path/device" ] || continue
  echo "{MARK} state $name"; cat "$path/operstate" "$path/speed"
  echo "{MARK} stats $name"; ethtool -S "$name"
  echo "{MARK} module $name"; ethtool -m "$name"
done 2>/dev/null
true
"""
MLXLINK_SCRIPT: Final = f"""
for path in /sys/class/infiniband/*; do
  name=${{path##*/}}
  [ -e "$path" ] || continue
  echo "{MARK} mlxlink $name"; mlxlink -d "$name" -c -m --json
done 2>/dev/null
true
"""
_SECTION: Final = re.compile(rf"{MARK} (?P<kind>[a-z]{{1,10}}) (?P<name>[^\s/]{{1,64}})")
_STAT: Final = re.compile(r"\s{1,40}(?P<name>\S{1,80}): (?P<count>\d{1,20})", re.ASCII)
_FIGURE: Final = r"(?P<value>-?\d{1,9}(?:\.\d{1,9})?)"
_MODULE: Final = tuple(
    (re.compile(pattern, re.ASCII), metric, scale)
    for pattern, metric, scale in (
        (rf"\s*Module temperature\s*: {_FIGURE} degrees C.*", "optic_temperature_c", 1.0),
        (rf"\s*Module voltage\s*: {_FIGURE} V", "optic_voltage_v", 1.0),
        (
            rf"\s*(?:Laser tx bias current|Laser bias current).{{0,30}}: {_FIGURE} mA",
            "optic_bias_a",
            1e-3,
        ),
        (
            (
                rf"\s*(?:Transmit avg optical power|Laser output power).{{0,30}}: .{{1,30}} / "
                rf"{_FIGURE} dBm"
            ),
            "optic_transmit_power_dbm",
            1.0,
        ),
        (
            (
                rf"\s*(?:Rcvr signal avg optical power|Receiver signal average optical power"
                rf"|Receiver signal OMA).{{0,30}}: .{{1,30}} / {_FIGURE} dBm"
            ),
            "optic_receive_power_dbm",
            1.0,
        ),
    )
)
_CHANNEL: Final = re.compile(r"\(Channel (?P<lane>\d)\)")
_LEADING: Final = re.compile(r"\s*(?P<value>-?\d{1,12}(?:\.\d{1,9})?(?:[eE][+-]?\d{1,3})?)")
# 15E-255 is what mlxlink prints where it has no figure.
LEAST_ERROR_RATE: Final = 1e-40
_BER: Final = {
    "Raw Physical BER": "pre_fec_error_rate",
    "Effective Physical BER": "post_fec_error_rate",
}
_COUNTERS: Final = {
    "Effective Physical Errors": "symbol_errors",
    "Link Down Counter": "link_downs",
    "Link Error Recovery Counter": "link_recoveries",
}
_LANES: Final = {
    "Rx Power Current [dBm]": ("optic_receive_power_dbm", 1.0),
    "Tx Power Current [dBm]": ("optic_transmit_power_dbm", 1.0),
    "Bias Current [mA]": ("optic_bias_a", 1e-3),
}
_SCALARS: Final = {
    "Temperature [C]": ("optic_temperature_c", 1.0),
    "Voltage [mV]": ("optic_voltage_v", 1e-3),
}


def ethtool_report(text: str) -> DeviceReport:
    """Return what :data:`ETHTOOL_SCRIPT` printed."""
    values: list[PortValue] = []
    for kind, name, lines in _sections(text):
        if kind == "state":
            values += _state(name, lines)
        elif kind == "stats":
            values += _stats(name, lines)
        elif kind == "module":
            values += _module(name, lines)
    return DeviceReport(values=values, missing="" if values else "it has no adapter")


def mlxlink_report(text: str) -> DeviceReport:
    """Return what :data:`MLXLINK_SCRIPT` printed."""
    values: list[PortValue] = []
    odd: list[str] = []
    num_adapters = 0
    for kind, name, lines in _sections(text):
        if kind == "mlxlink":
            num_adapters += 1
            try:
                values += _link(name, json.loads("\n".join(lines)))
            except (ValueError, RecursionError):
                odd.append(name)
    missing = f"mlxlink says nothing of {', '.join(odd[:8])}" if odd else ""
    return DeviceReport(values=values, missing=missing if num_adapters else "it has no adapter")


def _sections(text: str) -> Iterator[tuple[str, str, list[str]]]:
    kind, name, lines = "", "", list[str]()
    for line in text.split("\n"):
        if match := _SECTION.fullmatch(line):
            yield kind, name, lines
            kind, name, lines = match["kind"], match["name"], []
        else:
            lines.append(line[:1000] if kind != "mlxlink" else line)
    yield kind, name, lines


def _state(name: str, lines: list[str]) -> Iterator[PortValue]:
    state = lines[0].strip() if lines else ""
    if state in {"up", "down", "lowerlayerdown"}:
        yield PortValue(name, "link_up", float(state == "up"))
    speed = lines[1].strip() if len(lines) > 1 else ""
    if state == "up" and speed.isdecimal() and len(speed) < 10:
        yield PortValue(name, "rate_bps", 1e6 * int(speed))


def _stats(name: str, lines: list[str]) -> Iterator[PortValue]:
    for line in lines:
        match = _STAT.fullmatch(line)
        found = ethtool_metric(match["name"]) if match else None
        if match and found:
            yield PortValue(name, found[0], float(match["count"]), found[1])


def _module(name: str, lines: list[str]) -> Iterator[PortValue]:
    for line in lines:
        for pattern, metric, scale in _MODULE:
            if match := pattern.fullmatch(line.rstrip()):
                channel = _CHANNEL.search(line)
                inside = f"lane:{channel['lane']}" if channel else ""
                yield PortValue(name, metric, scale * float(match["value"]), inside)


def _link(name: str, said: Any) -> Iterator[PortValue]:
    sections = mapping_of(said, "result", "output")
    state = mapping_of(sections, "Operational Info").get("State")
    if isinstance(state, str):
        yield PortValue(name, "link_up", float(state == "Active"))
    counters = mapping_of(sections, "Physical Counters and BER Info")
    for key, metric in _BER.items():
        for value in _figures(counters.get(key))[:1]:
            if value == 0 or value >= LEAST_ERROR_RATE:
                yield PortValue(name, metric, value)
    for key, metric in _COUNTERS.items():
        yield from (PortValue(name, metric, v) for v in _figures(counters.get(key))[:1])
    module = mapping_of(sections, "Module Info")
    for key, (metric, scale) in _SCALARS.items():
        yield from (PortValue(name, metric, scale * v) for v in _figures(module.get(key))[:1])
    for key, (metric, scale) in _LANES.items():
        for lane, value in enumerate(_figures(module.get(key)), start=1):
            yield PortValue(name, metric, scale * value, f"lane:{lane}")


def _figures(value: Any) -> list[float]:
    """Return the figures in ``45 [-5..75]``, ``1.2,1.3 [-5..5]`` or ``{"values": [...]}``."""
    if isinstance(value, dict):
        rows = value.get("values")
        texts = [str(one)[:40] for one in rows[:16]] if isinstance(rows, list) else []
    else:
        texts = str(value)[:200].partition("[")[0].split(",")[:16]
    matches = [_LEADING.match(text) for text in texts]
    return [float(match["value"]) for match in matches if match]
