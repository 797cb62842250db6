"""What a user waits for: whole commands, by processor time and memory of their processes.

``python -m bench.user_path`` prints every row; ``python -m bench.user_path growth`` those that show
growth, which ``python -m bench.user_path.draw`` draws.
"""

from __future__ import annotations

import os
import subprocess
import sysconfig
import tempfile
from dataclasses import dataclass
from pathlib import Path

NETLOOM = str(Path(sysconfig.get_path("scripts")) / "netloom")
KIB = 1024
MIB = 2.0**20
RADIX = {128: 8, 1024: 16, 8192: 32}  # of a three-tier tree with as many hosts


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandCost:
    """What one run of a command took.

    Attributes:
        user_s: Processor time of its own.
        system_s: Processor time that the system spent for it.
        peak_mib: The most memory it held.
    """

    user_s: float
    system_s: float
    peak_mib: float

    @property
    def cpu_s(self) -> float:
        """Processor time in all."""
        return self.user_s + self.system_s


def cost_of(command: list[str]) -> CommandCost:
    """Run *command* and return what it took.

    Raises:
        RuntimeError: it failed.
    """
    process = subprocess.Popen(  # noqa: S603  (our own command)
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    assert process.stderr is not None
    said = process.stderr.read()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        message = f"{' '.join(command)}: {said.decode()}"
        raise RuntimeError(message)
    return CommandCost(
        user_s=used.ru_utime, system_s=used.ru_stime, peak_mib=used.ru_maxrss * KIB / MIB
    )


def tree_file(folder: Path, num_hosts: int) -> Path:
    """Write a three-tier tree as htsim has it and return its path."""
    radix = RADIX[num_hosts]
    tier = f"Downlink_speed_Gbps 400\nDownlink_Latency_ns 1000\nRadix_Down {radix // 2}\n"
    up = f"Radix_Up {radix // 2}\n"
    top = tier.replace(f"Radix_Down {radix // 2}", f"Radix_Down {radix}")
    path = folder / f"tree{num_hosts}.topo"
    path.write_text(
        f"Nodes {num_hosts}\nTiers 3\nPodsize {radix * radix // 4}\n"
        f"Tier 0\n{tier}{up}Tier 1\n{tier}{up}Tier 2\n{top}"
    )
    return path


def matrix_file(folder: Path, num_hosts: int, distances: range, size_bytes: int) -> Path:
    """Write flows of every host over each of *distances* and return the file's path."""
    path = folder / f"{len(distances)}x{num_hosts}.cm"
    with path.open("w") as file:
        file.write(f"Nodes {num_hosts}\nConnections {num_hosts * len(distances)}\n")
        for distance in distances:
            file.writelines(
                f"{host}->{(host + distance) % num_hosts} start 0 size {size_bytes}\n"
                for host in range(num_hosts)
            )
    return path


def scenario_file(folder: Path, name: str, *, gpus: int, technology: str, traffic: str) -> Path:
    """Write hosts of one GPU on a fat tree with *traffic* and return the file's path."""
    path = folder / f"{name}.yaml"
    path.write_text(
        f"cluster:\n  gpus: {gpus}\n  gpus_per_node: 1\n"
        f"  fabric: {{technology: {technology}, topology: {{kind: fat-tree, tiers: 3}}}}\n"
        f"traffic:\n  - {{{traffic}}}\n"
    )
    return path


def simulate_rows(folder: Path) -> dict[str, list[str]]:
    """Return the commands that simulate, by what they do."""
    flow = ["simulate", "--engine", "flow", "--json"]
    all_to_all = "kind: collective, operation: all-to-all, size: 1GB"

    def scenario(name: str, gpus: int, technology: str, traffic: str) -> list[str]:
        path = scenario_file(folder, name, gpus=gpus, technology=technology, traffic=traffic)
        return [*flow, str(path)]

    tree, matrix = tree_file(folder, 1024), matrix_file(folder, 1024, range(1, 1024), 1_000_000)
    files = ["--topology", str(tree), "--flows", str(matrix), "--technology", "infiniband-ndr"]
    ring = "kind: collective, operation: all-reduce, size: 1GiB"
    small = "kind: permutation, size: 1KB"
    return {
        "an empty simulate": scenario("empty", 16, "rocev2-400g", small),
        "all-to-all of 1,024 from a .cm file, infiniband-ndr, flows": [*flow, *files],
        "all-to-all of 1,024 as a pattern, infiniband-ndr, flows": scenario(
            "pattern", 1024, "infiniband-ndr", all_to_all
        ),
        "all-to-all of 1,024 as a pattern, rocev2-400g, flows": scenario(
            "hashed", 1024, "rocev2-400g", all_to_all
        ),
        "all-to-all of 8,192, 512 distances, infiniband-ndr, flows": scenario(
            "large", 8192, "infiniband-ndr", f"{all_to_all}, distances: 512"
        ),
        "ring all-reduce of 1 GiB over 1,024, rocev2-400g, flows": scenario(
            "ring", 1024, "rocev2-400g", ring
        ),
    }


def other_rows() -> dict[str, list[str]]:
    """Return commands beside simulate, by what they do."""
    return {
        "--version": ["--version"],
        "--help": ["--help"],
        "predict, 16,384 GPUs": ["predict", "--json"],
        "compare, all technologies": ["compare", "--json"],
        "validate steps": ["validate", "steps", "--json"],
    }


def step_rows(folder: Path) -> dict[str, list[str]]:
    """Return whole steps of GPT-3 175B in packets on rails of InfiniBand, by what they do."""
    found = {}
    for gpus, batch in ((128, 192), (1024, 1536), (10_240, 7680)):
        path = folder / f"step{gpus}.yaml"
        path.write_text(
            f"cluster: {{gpus: {gpus}, node: dgx-h100, fabric: "
            "{technology: infiniband-ndr, topology: {kind: rail-only}}}\n"
            "job:\n  model: gpt-3-175b\n"
            f"  training: {{sequence: 2048, global_batch: {batch}, precision: bf16}}\n"
            f"  parallel: {{tensor: 8, pipeline: 8, data: {gpus // 64}, zero: 1}}\n"
        )
        found[f"a whole step of {gpus:,} GPUs, packets"] = ["simulate", "--step", str(path)]
    return found


def growth_rows(folder: Path) -> dict[tuple[str, int], list[str]]:
    """Return permutations in both engines and all-to-alls in flows, by hosts."""
    found: dict[tuple[str, int], list[str]] = {}
    for hosts in RADIX:
        tree = ["--topology", str(tree_file(folder, hosts)), "--json"]
        some = matrix_file(folder, hosts, range(hosts // 2, hosts // 2 + 1), 2_000_000)
        for engine, technology in (
            ("packet", "rocev2-400g"),
            ("packet", "infiniband-ndr"),
            ("flow", "rocev2-400g"),
            ("flow", "infiniband-ndr"),
        ):
            chosen = ["--flows", str(some), "--technology", technology, "--engine", engine]
            key = f"permutation, {technology}, {engine}s", hosts
            found[key] = ["simulate", *tree, *chosen]
        traffic = "kind: collective, operation: all-to-all, size: 1GB, distances: 127"
        name = f"grow{hosts}"
        path = scenario_file(folder, name, gpus=hosts, technology="infiniband-ndr", traffic=traffic)
        key = "all-to-all, 127 distances, infiniband-ndr, flows", hosts
        found[key] = ["simulate", str(path), "--engine", "flow", "--json"]
    return found


def commands() -> None:
    """Print processor time and memory of whole commands."""
    print("\nWhole commands, user + system processor time and peak memory of the process:")
    with tempfile.TemporaryDirectory() as folder:
        files = Path(folder)
        rows = other_rows() | simulate_rows(files) | step_rows(files)
        for name, arguments in rows.items():
            cost = cost_of([NETLOOM, *arguments])
            print(
                f"  {name}: {cost.user_s:.2f} + {cost.system_s:.2f} s, {cost.peak_mib:,.0f} MiB",
                flush=True,
            )


def growth() -> None:
    """Print how commands grow from 128 to 8,192 hosts, cells apart by semicolons."""
    print("\nwhat;hosts;cpu_s;peak_mib")
    with tempfile.TemporaryDirectory() as folder:
        for (what, hosts), arguments in growth_rows(Path(folder)).items():
            cost = cost_of([NETLOOM, *arguments])
            print(f"{what};{hosts};{cost.cpu_s:.2f};{cost.peak_mib:.0f}", flush=True)
