"""Everything that a deployment writes, by path."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Final

from netloom.adapters import (
    cabling,
    dot,
    eos,
    frr,
    host_settings,
    netbox,
    nvue,
    opensm_files,
    slurm,
    sonic,
)
from netloom.adapters.ibsim import guid_of
from netloom.errors import OutputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from netloom.ops.deploy.intent import Intent

__all__ = ["MANIFEST", "SKIPPED", "deployment_files"]

MANIFEST: Final = "manifest.json"
SKIPPED: Final = "skipped"  # the manifest's key for files that could not be made, and why
FOLDER: Final = "/etc/opensm"  # where the subnet manager's files go on its host


def deployment_files(
    intent: Intent, *, guid: Callable[[int], int] = guid_of
) -> dict[str, str | bytes]:
    """Return the content of every file, by its path with forward slashes, manifest included.

    Args:
        intent: What the devices are to be told.
        guid: The GUID of each device of the plant; those of the lab when left out, since those of
            real devices are known only once they are plugged in.
    """
    files: dict[str, str | bytes] = dict(_everywhere(intent))
    files |= _ethernet(intent) if intent.underlay is not None else _infiniband(intent, guid)
    skipped = {}
    try:
        files["cabling/point-to-point.xlsx"] = cabling.point_to_point_xlsx(intent.site)
    except OutputError as error:
        skipped["cabling/point-to-point.xlsx"] = str(error)
    digests = {path: _digest(content) for path, content in sorted(files.items())}
    manifest = {"files": digests, SKIPPED: skipped}
    return {**files, MANIFEST: json.dumps(manifest, indent=2) + "\n"}


def _digest(content: str | bytes) -> str:
    data = content if isinstance(content, bytes) else content.encode()
    return hashlib.sha256(data).hexdigest()


def _everywhere(intent: Intent) -> Iterator[tuple[str, str]]:
    site = intent.site
    yield "cabling/point-to-point.csv", cabling.point_to_point_csv(site)
    yield "netbox/devices.csv", netbox.devices_csv(site)
    yield "netbox/cables.csv", netbox.cables_csv(site)
    yield "fabric.dot", dot.dot_text(site)
    yield "slurm/topology.conf", slurm.topology_conf(site)
    yield "slurm/topology.yaml", slurm.topology_yaml(site)
    yield "hosts/nccl.env", host_settings.nccl_environment(intent)


def _infiniband(intent: Intent, guid: Callable[[int], int]) -> dict[str, str]:
    return {
        "opensm/opensm.conf": opensm_files.opensm_conf(intent.site, folder=FOLDER),
        "opensm/root-guids": opensm_files.root_guids(intent.site, guid),
        "opensm/partitions.conf": opensm_files.partitions_conf(intent.partitions, guid),
        "opensm/qos-policy.conf": opensm_files.qos_policy(intent.partitions),
    }


def _ethernet(intent: Intent) -> dict[str, str]:
    site, files = intent.site, {}
    for number in range(len(site.nics), len(site.plant.devices)):
        folder = f"switches/{site.hostnames[number]}"
        files[f"{folder}/frr.conf"] = frr.render_configuration(intent.router(number))
        files[f"{folder}/config_db.json"] = sonic.config_db_text(intent, number)
        files[f"{folder}/nvue.sh"] = nvue.nvue_text(intent, number)
        files[f"{folder}/eos.conf"] = eos.eos_text(intent, number)
    for node, name in enumerate(site.node_names):
        files[f"hosts/{name}/nics.sh"] = host_settings.nic_commands(intent, node)
    return files
