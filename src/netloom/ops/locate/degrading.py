"""Links that degrade and have not dropped yet: by margin, flaps and lost codewords."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Final

from netloom.ops.locate.faults import Trouble
from netloom.ops.optics.margin import SIGNALS
from netloom.ops.optics.outlook import SIGNS
from netloom.ops.optics.survival import DAY_S

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from netloom.ops.locate.findings import Finding
    from netloom.ops.locate.network import DesignedNetwork
    from netloom.ops.locate.telemetry import TelemetryWindow
    from netloom.ops.plant import Cable

__all__ = ["degrading_links"]

FOR_LONG_S: Final = 30 * DAY_S  # what is said where no drop is expected before


def degrading_links(
    network: DesignedNetwork, heard: TelemetryWindow, is_away: Callable[[Cable], bool]
) -> Iterator[Finding]:
    """Give the cables that degrade; how soon they drop in seconds is the magnitude."""
    by_cable: dict[int, list[str]] = defaultdict(list)
    for part, track in sorted(heard.of("degrading").items()):
        cable = network.at.get(part)
        if cable is not None and track.last is not None and not is_away(cable):
            by_cable[cable.number].append(part)
    for number, ports in sorted(by_cable.items()):
        drops = {port: heard.last("drop_expected_s", port) for port in ports}
        first = min(ports, key=lambda port: drops[port] or FOR_LONG_S)
        sure = 1.0
        for port in ports:
            sure *= 1 - (heard.last("degrading", port) or 0.0)
        evidence = "; ".join(_says(heard, port) for port in ports)
        yield network.finding(
            network.part(network.cables[number]),
            Trouble.DEGRADING,
            f"{evidence}; {_remedy(network, heard, number, first)}",
            confidence=min(1 - sure, 0.9999),
            magnitude=drops[first] or FOR_LONG_S,
        )


def _says(heard: TelemetryWindow, port: str) -> str:
    sign = _sign(heard, port)
    if sign >= len(SIGNALS):
        return f"{port}: {SIGNS[sign]}"
    margin, slope = heard.last("optic_margin_db", port), heard.last("optic_margin_slope", port)
    text = f"{port} has {margin or 0.0:.1f} dB of margin left by its {SIGNS[sign]}"
    if slope:
        text += f", {-slope:.2g} dB a day less"
    times = [heard.last(f"drop_{which}_s", port) for which in ("expected", "earliest", "latest")]
    if None not in times:
        expected, low, high = (span(one or 0.0) for one in times)
        text += f"; it is expected to drop in {expected} ({low} to {high}, 80 %)"
    return text


def _sign(heard: TelemetryWindow, port: str) -> int:
    number = int(heard.last("degrading_sign", port) or 0)
    return number if 0 <= number < len(SIGNS) else 0


def span(time_s: float) -> str:
    """Return a time in hours or days, in words."""
    if time_s < 2 * DAY_S:
        return f"{time_s / 3600:.0f} h"
    return f"{time_s / DAY_S:.0f} days"


def _remedy(network: DesignedNetwork, heard: TelemetryWindow, number: int, port: str) -> str:
    """Return what to do, after the symptoms of CorrOpt (Zhuo et al., SIGCOMM 2017; recalled).

    Light that is lost on the way is dirt or a bent fibre; a laser that weakens is replaced; errors
    with enough light are the receiving transceiver or its seat.
    """
    sign = _sign(heard, port)
    lower, upper = network.ends[number]
    other = upper if port == lower else lower
    if sign == len(SIGNS) - 1:
        return f"remedy: look after the cooling at {port}, then replace its transceiver"
    if sign < len(SIGNALS) and SIGNALS[sign].blames == "laser":
        return f"remedy: replace the transceiver at {port}"
    if sign < len(SIGNALS):
        return (
            f"remedy: clean the connectors at both ends, then replace the transceiver at {other}, "
            f"which sends, then that at {port}"
        )
    return f"remedy: seat and clean the connectors at {port} and {other}, then replace the cable"
