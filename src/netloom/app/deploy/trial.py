"""Rendered files tried out: a subnet manager started on them, on a simulated fabric."""

from __future__ import annotations

import re
import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from netloom.app.lab import infiniband
from netloom.app.lab.labs import check_programs
from netloom.app.lab.remains import clean_up
from netloom.app.lab.store import LabFolder
from netloom.drivers import ibsim, opensm
from netloom.drivers.programs import Running
from netloom.errors import LabError
from netloom.formats.infiniband import ibsim_topology
from netloom.formats.infiniband import opensm as opensm_format
from netloom.ops.deploy.rules import Broken
from netloom.ops.lab import Lab

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from netloom.app.lab.infiniband import Subnet
    from netloom.ops.deploy.intent import Intent

__all__ = ["try_subnets"]

_GUID: Final = re.compile(r"0x[0-9a-fA-F]{16}\b", re.ASCII)
HOME: Final = "/etc/opensm/"  # what paths in opensm.conf begin with on the manager's own host
LOG: Final = re.compile(r"^(log_file|dump_files_dir|accum_log_file) .*$", re.MULTILINE)


def try_subnets(
    intent: Intent, files: Mapping[str, str], engine: str, guid: Callable[[int], int]
) -> Iterator[Broken]:
    """Start ibsim and OpenSM on every subnet's files and yield what its log says is wrong.

    Args:
        intent: Whose plant is simulated.
        files: By path, as rendered.
        engine: The routing engine that shall configure the tables.
        guid: The port GUIDs that the files speak of.

    Raises:
        LabError: programs are missing, or ibsim does not start.
    """
    check_programs("infiniband")
    with tempfile.TemporaryDirectory(prefix="netloom-trial-") as folder:
        place = LabFolder.of("trial", Path(folder))
        with place.locked():
            place.fresh_scratch()
            try:
                yield from _try_all(place, intent, _simulated(intent, files, guid), engine)
            finally:
                clean_up(place)


def _simulated(
    intent: Intent, files: Mapping[str, str], guid: Callable[[int], int]
) -> dict[str, str]:
    """Return the files with the GUIDs of the simulation instead of the real ones."""
    plant = intent.site.plant
    known = {guid(d): ibsim_topology.port_guid_of(plant, d) for d in range(len(plant.devices))}

    def swapped(match: re.Match[str]) -> str:
        real = int(match[0], 16)
        return f"0x{known.get(real, real):016x}"

    return {path: _GUID.sub(swapped, text) for path, text in files.items()}


def _try_all(
    place: LabFolder, intent: Intent, files: Mapping[str, str], engine: str
) -> Iterator[Broken]:
    plant = intent.site.plant
    lab = place.write(
        Lab(name=place.name, mark=place.mark, kind="infiniband", scenario="", engine=engine)
    )
    networks = infiniband.subnets_of(place, lab, plant)
    infiniband.check_size(plant, networks)
    for network in networks:
        lab = infiniband.start_simulator(place, lab, plant, network)
        ibsim.wait_ready(network.simulator, _running(lab, network.simulator_name()))
        yield from _try_one(place, lab, network, files)


def _running(lab: Lab, name: str) -> Running:
    program = lab.program(name)
    assert program is not None, name
    return Running(pid=program.pid, started=program.started)


def _try_one(
    place: LabFolder, lab: Lab, network: Subnet, files: Mapping[str, str]
) -> Iterator[Broken]:
    (manager,) = network.managers
    folder = f"opensm/{network.number}"
    _write(
        manager, {p.rpartition("/")[2]: t for p, t in files.items() if p.startswith(f"{folder}/")}
    )
    env = ibsim.client_environment(network.simulator, network.manager_host(0))
    begin = partial(opensm.start_manager, manager, env={**env, **place.environment})
    lab, running = place.starting(lab, network.manager_name(0), begin)
    try:
        log = opensm.wait_up(manager, running)
    except LabError as error:
        yield _broken(
            f"{folder}/opensm.conf", str(error), "correct the file; see the log's message"
        )
        return
    if log.engine != lab.engine:
        what = f"OpenSM routes with {log.engine or 'nothing'} instead of {lab.engine}"
        yield _broken(f"{folder}/opensm.conf", what, "choose an engine that fits the topology")
    for line in log.refused:
        yield _broken(folder, f"OpenSM passed over what it was given: {line}", "correct that file")


def _write(manager: opensm_format.SubnetManager, files: Mapping[str, str]) -> None:
    manager.folder.mkdir(mode=0o755, exist_ok=True)
    for name, text in files.items():
        (manager.folder / name).write_text(text, encoding="utf-8")
    own = opensm_text(files.get("opensm.conf", ""), manager)
    manager.configuration.write_text(own, encoding="utf-8")


def opensm_text(text: str, manager: opensm_format.SubnetManager) -> str:
    """Return an opensm.conf that reads and writes in the manager's folder only."""
    moved = LOG.sub("", text).replace(HOME, f"{manager.folder}/")
    return (
        f"{moved}\nlog_file {manager.log}\naccum_log_file FALSE\ndump_files_dir {manager.folder}\n"
    )


def _broken(where: str, what: str, remedy: str) -> Broken:
    return Broken(severity="error", where=where, what=what, remedy=remedy)
