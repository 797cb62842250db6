"""Slurm's topology plugins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from netloom.formats.inventory import slurm
from netloom.formats.register import Format

if TYPE_CHECKING:
    from netloom.ops.site import Site

__all__ = ["ENTRY"]


def _files(site: Site) -> dict[str, str]:
    files = {
        "slurm/topology.conf": slurm.topology_conf(site),
        "slurm/topology.yaml": slurm.topology_yaml(site),
    }
    if site.network.node.num_hosts > 1:
        files["slurm/topology-block.conf"] = slurm.blocks_conf(site)
    return files


ENTRY: Final = Format(
    name="slurm",
    title="Slurm",
    family="inventory",
    holds="inventory",
    suffixes=(),
    sniff=lambda _: False,
    parse=None,
    render=_files,
)
