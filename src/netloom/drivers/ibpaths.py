"""Paths and partitions as infiniband-diags tell them: ibtracert, smpquery pkeys, saquery."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netloom.errors import LabError
from netloom.formats.infiniband.paths import Hop, parse_path_key, parse_pkeys, parse_trace

if TYPE_CHECKING:
    from netloom.drivers.ibdiags import Client

__all__ = [
    "path_key",
    "pkeys",
    "trace",
]


def trace(client: Client, source_lid: int, target_lid: int) -> tuple[Hop, ...]:
    """Return the path that forwarding tables lead from one LID to another; none when broken.

    Raises:
        LabError: ``ibtracert`` is not installed, or did not end.
    """
    try:
        return parse_trace(client.run("ibtracert", str(source_lid), str(target_lid)))
    except LabError as error:
        if "exit status" in str(error):
            return ()
        raise


def pkeys(client: Client, lid: int, port: int) -> tuple[int, ...]:
    """Return the partition keys that a port holds, sorted; the top bit is full membership.

    Raises:
        LabError: the port does not answer.
    """
    return parse_pkeys(client.run("smpquery", "pkeys", str(lid), str(port)))


def path_key(client: Client, source_lid: int, target_lid: int) -> int | None:
    """Return the partition key of the path that the subnet manager gives; None without a path.

    Raises:
        LabError: the subnet manager does not answer.
    """
    pair = f"{source_lid}:{target_lid}"
    return parse_path_key(client.run("saquery", "PR", "--src-to-dst", pair))
