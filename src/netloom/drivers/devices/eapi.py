"""Arista EOS by eAPI: JSON-RPC over HTTPS; only show commands are sent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from netloom.drivers.devices.streams import Deadline
from netloom.drivers.devices.web import fetch_json
from netloom.formats.eos.eapi import COMMANDS, OPTIONAL, answers_of, is_refused, report_of, request

if TYPE_CHECKING:
    from collections.abc import Sequence

    from netloom.ops.observe.devices import DeviceAccess, DeviceReport

__all__ = ["look"]

PATH: Final = "/command-api"


def look(access: DeviceAccess) -> DeviceReport:
    """Return what a switch says now.

    Optics and pauses are asked for one by one: a platform that does not have the command has no
    such numbers, and that is no failure.

    Raises:
        LabError: it does not answer in time, or refuses.
    """
    deadline = Deadline(access.deadline_s)
    said = answers_of(_asked(access, COMMANDS, deadline), COMMANDS)
    for command in OPTIONAL:
        answer = _asked(access, [command], deadline)
        if not is_refused(answer):
            said |= answers_of(answer, [command])
    return report_of(said)


def _asked(access: DeviceAccess, commands: Sequence[str], deadline: Deadline) -> Any:
    headers = {"Content-Type": "application/json"}
    return fetch_json(access, PATH, body=request(commands), headers=headers, deadline=deadline)
