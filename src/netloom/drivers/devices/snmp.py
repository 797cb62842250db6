"""SNMP by net-snmp's ``snmpbulkwalk``; secrets go to it by a private file, never as arguments."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from netloom.drivers.devices.streams import Deadline, split_address
from netloom.drivers.programs import run
from netloom.errors import LabError, NetloomError
from netloom.formats.snmp.walk import WALKS, parse_walk, report_of

if TYPE_CHECKING:
    from netloom.ops.observe.devices import DeviceAccess, DeviceReport

__all__ = ["look"]

PORT: Final = 161
FORMAT: Final = "-OnQUet"
BULK: Final = "-Cr25"


def look(access: DeviceAccess) -> DeviceReport:
    """Return what a device's agent says now.

    Without a user it is asked by version 2c, the secret being the community; with one by version
    3, the secret being both passphrases (SHA and AES).

    Raises:
        LabError: it does not answer in time, or has no interfaces.
    """
    if access.secret is None:
        raise LabError(
            what=f"{access.name}: SNMP needs a community or a passphrase",
            remedy="name where it is with credentials",
        )
    deadline = Deadline(access.deadline_s)
    with tempfile.TemporaryDirectory(prefix="netloom-snmp-") as folder:
        _write_settings(Path(folder) / "snmp.conf", access)
        columns: dict[str, dict[str, str]] = {}
        for tree in WALKS:
            columns |= parse_walk(_walk(access, tree, Path(folder), deadline))
    return report_of(columns)


def _walk(access: DeviceAccess, tree: str, folder: Path, deadline: Deadline) -> str:
    host, port = split_address(access.address, PORT)
    place = f"udp6:[{host}]:{port}" if ":" in host else f"udp:{host}:{port}"
    left_s = deadline.left_s()
    argv = ["snmpbulkwalk", FORMAT, BULK, "-r1", f"-t{max(0.2, left_s / 3):.1f}", place, tree]
    env = {"SNMPCONFPATH": str(folder), "SNMP_PERSISTENT_DIR": str(folder), "MIBS": ""}
    try:
        return run(argv, env=env, timeout_s=left_s)
    except NetloomError as error:
        raise LabError(
            what=f"{access.name}: SNMP {place} does not answer", remedy=str(error)
        ) from error


def _write_settings(path: Path, access: DeviceAccess) -> None:
    """Write what net-snmp reads (snmp.conf(5)); the folder is ours alone."""
    assert access.secret is not None
    secret = access.secret.reveal()
    if not all(
        word.isprintable() and not set(word) & set("\"'\\#") for word in (secret, access.user)
    ):
        raise LabError(
            what=f"{access.name}: its user or secret has characters that snmp.conf cannot hold",
            remedy="use letters, digits and common signs",
        )
    lines = ["defVersion 2c", f'defCommunity "{secret}"']
    if access.user:
        lines = [
            "defVersion 3",
            "defSecurityLevel authPriv",
            f'defSecurityName "{access.user}"',
            "defAuthType SHA",
            "defPrivType AES",
            f'defAuthPassphrase "{secret}"',
            f'defPrivPassphrase "{secret}"',
        ]
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
