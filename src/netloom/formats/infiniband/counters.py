"""The counters of every port of an InfiniBand fabric, in two scans of ``ibqueryerrors``.

``--counters`` gives what each port sent and received; without it come errors, only those above a
threshold. The threshold is zero here, whatever the site has configured, so that a port which the
first scan names and the second does not has no errors.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from netloom.errors import LabError
from netloom.formats.infiniband.diags import PortErrors, parse_errors

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

__all__ = ["parse_port_counters", "port_counters"]

ERRORS: Final = (
    *("SymbolErrorCounter", "LinkErrorRecoveryCounter", "LinkDownedCounter", "PortRcvErrors"),
    *("PortRcvRemotePhysicalErrors", "PortRcvSwitchRelayErrors", "PortXmitDiscards"),
    *("PortXmitConstraintErrors", "PortRcvConstraintErrors", "LocalLinkIntegrityErrors"),
    *("ExcessiveBufferOverrunErrors", "VL15Dropped", "PortXmitWait"),
)


def parse_port_counters(text: str) -> tuple[PortErrors, ...]:
    """Return the ports that one scan printed; none is a good answer where none has errors.

    Raises:
        LabError: it is not what ibqueryerrors prints.
    """
    try:
        if text.strip():
            return parse_errors(text)
    except LabError:
        pass
    start = text.strip()[:80]
    message = (
        f"ibqueryerrors: what it printed is not understood ({start!r}); is a subnet manager up?"
    )
    raise LabError(message)


def port_counters(run: Callable[..., str], folder: Path) -> tuple[PortErrors, ...]:
    """Return what every port that answers counted; errors it does not name are zero.

    Args:
        run: Runs a program of infiniband-diags and returns what it printed.
        folder: For the file of thresholds.

    Raises:
        LabError: nothing answers.
    """
    thresholds = folder / "thresholds"
    thresholds.write_text("", encoding="ascii")
    data = parse_port_counters(run("ibqueryerrors", "--counters"))
    errors = parse_port_counters(run("ibqueryerrors", "--threshold-file", str(thresholds)))
    by_port = {(one.guid, one.port): one.counters for one in errors}
    none = dict.fromkeys(ERRORS, 0)
    return tuple(
        PortErrors(
            guid=one.guid,
            name=one.name,
            port=one.port,
            counters={**one.counters, **none, **by_port.get((one.guid, one.port), {})},
        )
        for one in data
    )
