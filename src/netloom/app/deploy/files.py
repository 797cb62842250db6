"""Everything that a deployment writes, by path."""

from __future__ import annotations

import hashlib
import json
from functools import partial
from typing import TYPE_CHECKING, Final

from netloom.app.deploy.subnets import has_levels, subnet_files
from netloom.errors import OutputError
from netloom.formats.infiniband import ibsim_topology
from netloom.formats.inventory import cabling
from netloom.formats.nccl import host_settings, host_units
from netloom.formats.register import formats_of
from netloom.ops.switch_systems import files_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from netloom.ops.deploy.intent import Intent

__all__ = ["MANIFEST", "SKIPPED", "deployment_files", "manifest_text"]

MANIFEST: Final = "manifest.json"
SKIPPED: Final = "skipped"  # the manifest's key for files that could not be made, and why
SPREADSHEET: Final = "cabling/point-to-point.xlsx"


def deployment_files(
    intent: Intent, *, guid: Callable[[int], int] | None = None
) -> dict[str, str | bytes]:
    """Return the content of every file, by its path with forward slashes, manifest included.

    Args:
        intent: What the devices are to be told.
        guid: The port GUID of each device of the plant; those of the lab when left out, since
            those of real devices are known only once they are plugged in.
    """
    guid = guid or partial(ibsim_topology.port_guid_of, intent.site.plant)
    files: dict[str, str | bytes] = dict(_everywhere(intent))
    files |= _ethernet(intent) if intent.underlay is not None else _infiniband(intent, guid)
    skipped = _skipped(intent)
    try:
        files[SPREADSHEET] = cabling.point_to_point_xlsx(intent.site)
    except OutputError as error:
        skipped[SPREADSHEET] = str(error)
    return {**files, MANIFEST: manifest_text(files, skipped)}


def manifest_text(
    files: Mapping[str, str | bytes], skipped: Mapping[str, str] | None = None
) -> str:
    """Return the manifest of some files: the SHA-256 of each, and what was left out and why."""
    digests = {path: _digest(content) for path, content in sorted(files.items())}
    return json.dumps({"files": digests, SKIPPED: dict(skipped or {})}, indent=2) + "\n"


def _skipped(intent: Intent) -> dict[str, str]:
    nic = intent.site.network.nic
    if intent.underlay is None or nic.vendor == host_settings.VENDOR:
        return {}
    return {
        "hosts/*/nics.sh": f"{nic.name} is set up with {nic.vendor}'s own tools, which netloom "
        "does not know"
    }


def _digest(content: str | bytes) -> str:
    data = content if isinstance(content, bytes) else content.encode()
    return hashlib.sha256(data).hexdigest()


def _everywhere(intent: Intent) -> Iterator[tuple[str, str]]:
    for form in formats_of("inventory"):
        if form.render is not None:
            yield from form.render(intent.site).items()
    yield "hosts/nccl.env", host_settings.nccl_environment(intent)


def _infiniband(intent: Intent, guid: Callable[[int], int]) -> dict[str, str]:
    files = {
        f"opensm/{subnet.number}/{name}": text
        for subnet in subnet_files(intent, guid)
        for name, text in subnet.files.items()
    }
    for subnet in subnet_files(intent, guid):
        topology = ibsim_topology.render_topology(intent.site.plant, subnet.devices)
        files[f"opensm/{subnet.number}/ibsim.net"] = topology
    levels = has_levels(intent)
    for tenant in intent.partitions:
        text = host_settings.nccl_environment(intent, tenant, has_levels=levels)
        files[f"hosts/nccl-{tenant.name}.env"] = text
    return files


def _ethernet(intent: Intent) -> dict[str, str]:
    site, files = intent.site, {}
    for number in range(len(site.nics), len(site.plant.devices)):
        for _, file, path in files_of(intent, number):
            text = file.render(intent, number)
            if text:
                files[path] = text
    if site.network.nic.vendor == host_settings.VENDOR:
        for computer, name in enumerate(site.computer_names):
            files[f"hosts/{name}/nics.sh"] = host_settings.nic_commands(intent, computer)
            files[f"hosts/{name}/nics-check.sh"] = host_units.nic_check(intent, computer)
        files[f"hosts/{host_units.SERVICE}"] = host_units.nic_service()
        files[f"hosts/{host_units.RULES}"] = host_units.nic_rules()
    return files
