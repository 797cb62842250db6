"""A list of cables: CSV with the columns a_device, a_port, b_device, b_port and perhaps rate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from netloom.errors import at
from netloom.ops.observe.compare import Built, BuiltCable
from netloom.ops.observe.naming import rows_of
from netloom.units import RATE, parse_quantity

if TYPE_CHECKING:
    from collections.abc import Mapping

    from netloom.ops.observe.naming import Naming

__all__ = ["COLUMNS", "parse_cable_list"]

COLUMNS: Final = ("a_device", "a_port", "b_device", "b_port")


def parse_cable_list(text: str, naming: Naming) -> Built:
    """Return the cables in a CSV file.

    Raises:
        SpecError: a column is missing, or a port or rate is none; the message has the line.
    """
    cables = []
    for number, row in rows_of(text, COLUMNS):
        with at(line=number):
            cables.append(_listed(row, naming))
    return Built(cables=tuple(cables))


def _listed(row: Mapping[str, str], naming: Naming) -> BuiltCable:
    rate = row.get("rate", "")
    return BuiltCable(
        one=naming.jack(row["a_device"], row["a_port"]),
        other=naming.jack(row["b_device"], row["b_port"]),
        rate_bps=parse_quantity(rate, RATE, where="rate") if rate else None,
    )
