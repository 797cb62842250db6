"""The counters of every port of an InfiniBand fabric, in two scans of ``ibqueryerrors``.

``--counters`` gives what each port sent and received; without it come errors, only those above a
threshold. The threshold is zero here, whatever the site has configured, so that a port which the
first scan names and the second does not has no errors.
"""

from __future__ import annotations

from netloom.errors import LabError
from netloom.formats.infiniband.diags import PortErrors, parse_errors

__all__ = [
    "parse_port_counters",
]


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
    raise LabError(
        what=f"ibqueryerrors: what it printed is not understood ({start!r})",
        remedy="is a subnet manager up?",
    )
