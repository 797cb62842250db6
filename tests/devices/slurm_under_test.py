"""A real slurmctld (no munge: auth/none) in a folder of the test."""

from __future__ import annotations

import os
import subprocess
from contextlib import contextmanager
from typing import TYPE_CHECKING

from devices_under_test import answers, daemon, free_port, need

from netloom.drivers.programs import find_program

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NODES = 8


@contextmanager
def slurm(folder: Path) -> Iterator[Path]:
    """Run a controller with eight nodes, a slurmd on the first of them; give its configuration."""
    need("slurmctld", "slurmd", "scontrol")
    port, worker = free_port(), free_port()
    state = folder / "slurm"
    state.mkdir()
    config = state / "slurm.conf"
    host = os.uname().nodename
    config.write_text(
        f"ClusterName=test\nSlurmctldHost={host}(127.0.0.1)\nSlurmUser=root\n"
        f"SlurmctldPort={port}\nSlurmdPort={free_port()}\nAuthType=auth/none\n"
        f"CredType=cred/none\nStateSaveLocation={state}\nSlurmctldPidFile={state}/pid\n"
        f"SlurmdSpoolDir={state}/spool\nProctrackType=proctrack/linuxproc\nReturnToService=2\n"
        f"JobAcctGatherType=jobacct_gather/none\nSwitchType=switch/none\nTaskPlugin=task/none\n"
        f"SelectType=select/cons_tres\nSlurmctldLogFile={state}/ctld.log\n"
        f"NodeName=gpu0 NodeHostname={host} NodeAddr=127.0.0.1 Port={worker} CPUs=1\n"
        f"NodeName=gpu[1-{NODES - 1}] NodeAddr=127.0.0.1 CPUs=1\n"
        f"PartitionName=all Nodes=gpu[0-{NODES - 1}] Default=YES State=UP\n",
        encoding="utf-8",
    )
    argv = ["slurmctld", "-D", "-f", str(config)]
    work = ["slurmd", "-D", "-N", "gpu0", "-f", str(config)]
    with (
        daemon(argv, folder, lambda: answers(port) and is_up(config)),
        daemon(work, folder, lambda: "State=IDLE" in scontrol(config, "show", "node", "gpu0")),
    ):
        yield config


def is_up(config: Path) -> bool:
    return "is UP" in scontrol(config, "ping")


def scontrol(config: Path, *words: str) -> str:
    """Return what a person's own scontrol prints."""
    return subprocess.run(  # noqa: S603  (a test's own cluster)
        [find_program("scontrol"), *words],
        env={**os.environ, "SLURM_CONF": str(config)},
        capture_output=True,
        text=True,
        check=False,
    ).stdout
