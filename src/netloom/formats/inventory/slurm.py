"""Slurm: which nodes are near each other, as topology.conf and topology.yaml.

Rails put each NIC of a node on another leaf, so the unit of the tree is the set of nodes whose
NICs share their leaves, not a leaf.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from netloom.ops.site import Site

__all__ = ["blocks_conf", "topology_conf", "topology_yaml"]


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


def blocks_conf(site: Site) -> str:
    """Return the block plugin's file: one block for each rack that is a scale-up domain."""
    per_node = site.network.node.num_hosts
    names = site.computer_names
    lines = [
        f"BlockName=rack{start // per_node} Nodes={_span(names[start : start + per_node])}"
        for start in range(0, len(names), per_node)
    ]
    return "".join(f"{line}\n" for line in (*lines, f"BlockSizes={per_node}"))


def _units(site: Site) -> list[tuple[str, str]]:
    """Return names of the units of nearest nodes, and their computers as Slurm writes them."""
    reaches = site.network.design.reaches
    num_nodes = max(1, reaches[0].num_nodes if reaches else 1)
    size = num_nodes * site.network.node.num_hosts
    names = site.computer_names
    return [
        (f"unit{index}", _span(names[start : start + size]))
        for index, start in enumerate(range(0, len(names), size))
    ]


def _span(names: tuple[str, ...]) -> str:
    first, last = names[0][1:], names[-1][1:]
    return f"n{first}" if first == last else f"n[{first}-{last}]"
