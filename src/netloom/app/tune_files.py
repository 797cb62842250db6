"""Service levels of a job's classes as files for switches, hosts and the subnet manager."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from netloom.app.deploy.run import deployment_of
from netloom.formats.eos.class_lines import class_lines
from netloom.formats.infiniband.service_levels import service_levels
from netloom.formats.nccl.communicator_classes import communicator_classes, nic_classes
from netloom.formats.nvue.class_commands import class_commands
from netloom.formats.sonic.class_tables import class_tables
from netloom.ops.deploy.service_classes import ServiceClass
from netloom.results.write import write_atomically

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from netloom.study.tune.stages.tuning import StagedSettings

__all__ = ["class_files", "rendered", "service_classes"]


def service_classes(found: StagedSettings) -> tuple[ServiceClass, ...]:
    """Return the classes of the best levels, the first first."""
    levels, weights = found.levels, found.levels.weights
    total = sum(weights.get(level, 0.0) for level in set(levels.level.values())) or 1.0
    flows = found.buffers.network.technology.flows_per_rank
    return tuple(
        ServiceClass(
            name=name,
            priority=level,
            weight=100 * weights[level] / total if level in weights else 0.0,
            qps=flows * levels.qps.get(name, 1),
        )
        for name, level in sorted(levels.level.items(), key=lambda pair: -pair[1])
    )


def class_files(found: StagedSettings) -> dict[str, str]:
    """Return the files by path; SONiC's name the ports of each switch that runs it."""
    classes = service_classes(found)
    files = {
        "classes/nvue.sh": class_commands(classes),
        "classes/eos.conf": class_lines(classes),
        "classes/nccl-communicators.txt": communicator_classes(classes),
        "classes/nics.sh": nic_classes(classes),
        "classes/opensm-qos.conf": service_levels(classes),
    }
    for path, text in deployment_of(found.scenario).texts().items():
        if path.endswith("config_db.json"):
            tables: Mapping[str, Any] = json.loads(text)
            ports = sorted(tables.get("PORT", {}))
            name = path.rsplit("/", 2)[-2]
            files[f"classes/{name}/config_db.json"] = class_tables(classes, ports)
    return files


def rendered(folder: Path, files: Mapping[str, str]) -> int:
    """Write *files* below *folder* and return how many.

    Raises:
        OutputError: one cannot be written.
    """
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        write_atomically(folder / path, text)
    return len(files)
