"""Arista EOS by eAPI: JSON-RPC over HTTPS; only show commands are sent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from netloom.drivers.devices.streams import Deadline
from netloom.drivers.devices.web import fetch_json
from netloom.errors import LabError
from netloom.formats.eos.eapi import COMMANDS, OPTIONAL, answers_of, report_of, request

if TYPE_CHECKING:
    from collections.abc import Sequence

    from netloom.ops.observe.devices import DeviceAccess, DeviceReport

__all__ = ["look"]

PATH: Final = "/command-api"


def look(access: DeviceAccess) -> DeviceReport:
    """Return what a switch says now.

    Optics and pauses are asked for one by one: not every platform knows these commands.

    Raises:
        LabError: it does not answer in time, or refuses.
    """
    deadline = Deadline(access.deadline_s)
    said = _said(access, COMMANDS, deadline)
    refused = []
    for command in OPTIONAL:
        try:
            said |= _said(access, [command], deadline)
        except LabError as error:
            refused.append(f"{command}: {error}")
    return report_of(said, "; ".join(refused))


def _said(
    access: DeviceAccess, commands: Sequence[str], deadline: Deadline
) -> dict[str, dict[str, Any]]:
    headers = {"Content-Type": "application/json"}
    answer = fetch_json(access, PATH, body=request(commands), headers=headers, deadline=deadline)
    return answers_of(answer, commands)
