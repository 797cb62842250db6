"""Slurm: which nodes are near each other, as topology.conf and topology.yaml.

Rails put each NIC of a node on another leaf, so the unit of the tree is the set of nodes whose
NICs share their leaves, not a leaf.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from netloom.ops.site import Site

__all__ = ["topology_conf", "topology_yaml"]


def topology_conf(site: Site) -> str:
    """Return the tree plugin's file."""
    lines = [f"SwitchName={name} Nodes={nodes}" for name, nodes in _units(site)]
    if len(lines) > 1:
        lines.append(f"SwitchName=fabric Switches=unit[0-{len(lines) - 1}]")
    return "".join(f"{line}\n" for line in lines)


def topology_yaml(site: Site) -> str:
    """Return the same for Slurm 25.05 and later."""
    units = list(_units(site))
    lines = ["---", "- topology: fabric", "  cluster_default: true", "  tree:", "    switches:"]
    if len(units) > 1:
        lines.append(f'      - {{switch: fabric, children: "unit[0-{len(units) - 1}]"}}')
    lines += [f'      - {{switch: {name}, nodes: "{nodes}"}}' for name, nodes in units]
    return "".join(f"{line}\n" for line in lines)


def _units(site: Site) -> list[tuple[str, str]]:
    """Return names of the units of nearest nodes, and their nodes as Slurm writes them."""
    reach = site.network.design.reaches[0].num_nodes if site.network.design.reaches else 1
    names = site.node_names
    starts = range(0, len(names), max(1, reach))
    return [
        (f"unit{index}", _span(names[start : start + reach])) for index, start in enumerate(starts)
    ]


def _span(names: tuple[str, ...]) -> str:
    first, last = names[0][1:], names[-1][1:]
    return f"n{first}" if first == last else f"n[{first}-{last}]"
