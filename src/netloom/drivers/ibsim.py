"""ibsim, the InfiniBand fabric simulator: its topology file, its process and its console.

ibsim answers management datagrams as switches and adapters would; it moves no data. It needs no
privileges. Its console reads a named pipe, so that any later process can speak to it.
"""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from netloom.drivers.programs import is_running, read_tail, start, wait_for
from netloom.errors import LabError

if TYPE_CHECKING:
    from netloom.drivers.programs import Running

__all__ = [
    "MAX_HOSTS",
    "Simulator",
    "client_environment",
    "command",
    "link",
    "preload_library",
    "set_counter",
    "set_error_rate",
    "start_simulator",
    "unlink",
    "wait_ready",
]

# Above this OpenSM takes a minute on two cores (8,192 hosts: 60.9 s measured).
MAX_HOSTS: Final = 4096
PROMPT: Final = "sim> "
LIBRARY: Final = "umad2sim/libumad2sim.so"
LIBRARY_FOLDERS: Final = ("/usr/lib", "/usr/lib64", "/usr/local/lib")


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulator:
    """One simulated subnet.

    Attributes:
        socket: The name its clients find it by.
        folder: Where its files lie and its clients run.
        stem: What its files are called, before the dot.
    """

    socket: str
    folder: Path
    stem: str

    @property
    def topology(self) -> Path:
        """Its topology file."""
        return self.folder / f"{self.stem}.net"

    @property
    def console(self) -> Path:
        """The named pipe its console reads."""
        return self.folder / f"{self.stem}.ctl"

    @property
    def output(self) -> Path:
        """The file its console writes."""
        return self.folder / f"{self.stem}.out"


def preload_library() -> str:
    """Return the library that leads OpenSM and infiniband-diags to ibsim.

    Raises:
        LabError: it is not installed.
    """
    for folder in LIBRARY_FOLDERS:
        found = sorted(Path(folder).glob(LIBRARY)) or sorted(Path(folder).glob(f"*/{LIBRARY}"))
        if found:
            return str(found[0])
    raise LabError(
        what="libumad2sim.so is not installed",
        remedy="apt-get install libumad2sim0 (Debian's name for it)",
    )


def client_environment(simulator: Simulator, host: str) -> dict[str, str]:
    """Return the environment that makes a program run as if on *host* of the simulated subnet."""
    return {
        "IBSIM_SOCKNAME": simulator.socket,
        "LD_PRELOAD": preload_library(),
        "OSM_CACHE_DIR": str(simulator.folder),
        "OSM_TMP_DIR": str(simulator.folder),
        "SIM_HOST": host,
    }


def start_simulator(
    simulator: Simulator, *, num_devices: int, num_switches: int, num_ports: int, mark: str
) -> Running:
    """Start ibsim on its topology file, which must be there; it is ready some time later.

    Args:
        simulator: Which.
        num_devices: Hosts and switches in the file.
        num_switches: Switches in it.
        num_ports: Ports of all of them, free ones and those of number 0 included.
        mark: ``VARIABLE=value`` for its environment.

    Raises:
        LabError: it is not installed, or cannot be started.
    """
    variable, _, value = mark.partition("=")
    with contextlib.suppress(FileExistsError):
        os.mkfifo(simulator.console, mode=0o600)
    # Open for reading and writing, so that it never sees the end of its input.
    pipe = os.open(simulator.console, os.O_RDWR)
    arguments = ["-N", num_devices + 8, "-S", num_switches + 8, "-P", num_ports + 64]
    try:
        return start(
            ["ibsim", "-s", *map(str, arguments), "-L", "49152", simulator.topology.name],
            env={"IBSIM_SOCKNAME": simulator.socket, variable: value},
            cwd=simulator.folder,
            output=simulator.output,
            stdin=pipe,
        )
    finally:
        os.close(pipe)


def wait_ready(simulator: Simulator, running: Running, *, timeout_s: float = 120.0) -> None:
    """Return when ibsim has read its topology and listens.

    Raises:
        LabError: it ended, or is not ready in time; the message has its last line.
    """

    def ready() -> bool | None:
        if PROMPT in read_tail(simulator.output):
            return True
        return None if is_running(running.pid, running.started) else False

    if not wait_for(ready, timeout_s=timeout_s):
        said = read_tail(simulator.output, most_bytes=500).strip().splitlines()
        raise LabError(
            what="ibsim did not start", remedy=f"it said: {said[-1] if said else 'nothing'}"
        )


def command(simulator: Simulator, line: str, *, timeout_s: float = 120.0) -> str:
    """Type *line* at ibsim's console and return what it answered.

    Raises:
        LabError: ibsim does not run, does not answer, or refuses.
    """
    assert "\n" not in line, line
    before = simulator.output.stat().st_size if simulator.output.exists() else 0
    try:
        pipe = os.open(simulator.console, os.O_WRONLY | os.O_NONBLOCK)
    except OSError as error:
        raise LabError(what="ibsim does not run", remedy="bring the lab up again") from error
    try:
        os.write(pipe, f"{line}\n".encode("ascii"))
    finally:
        os.close(pipe)

    def answered() -> str | None:
        answer = read_tail(simulator.output, offset=before)
        return answer if PROMPT in answer else None

    answer = wait_for(answered, timeout_s=timeout_s)
    if answer is None:
        raise LabError(
            what=f"ibsim gave no answer to {line!r} in {timeout_s:g} s",
            remedy="bring the lab up again",
        )
    lines = answer.partition(PROMPT)[0].splitlines()
    said = "\n".join(line for line in lines if not line.startswith("ibwarn:")).strip()
    if said.startswith(("# ", "command ")) and not said.startswith("# Net status"):
        message = f"ibsim refused {line!r}: {said[:200]}"
        raise LabError(message)
    return said


def unlink(simulator: Simulator, device: str, port: int) -> None:
    """Pull the cable out of a port; one that has none stays so."""
    try:
        command(simulator, f'Unlink "{device}"[{port}]')
    except LabError as error:
        if "is not linked" not in str(error):
            raise


def link(simulator: Simulator, one: tuple[str, int], other: tuple[str, int]) -> None:
    """Put a cable between two free ports."""
    command(simulator, f'Link "{one[0]}"[{one[1]}] "{other[0]}"[{other[1]}]')


def set_error_rate(simulator: Simulator, device: str, port: int, percent: int) -> None:
    """Let a port lose that share of the datagrams that reach it."""
    command(simulator, f'Error "{device}"[{port}] {percent}')


def set_counter(simulator: Simulator, device: str, port: int, counter: str, value: int) -> int:
    """Set one counter of a port, such as ``PortCounters.SymbolErrorCounter``.

    Returns:
        What it then holds: a counter that is too narrow for *value* stays at its largest.

    Raises:
        LabError: ibsim knows no such counter.
    """
    said = command(simulator, f'PerformanceSet "{device}"[{port}] {counter}={value}')
    held = said.rpartition("has been set to ")[2]
    if not (held.isascii() and held.isdigit()):
        message = f"ibsim did not set {counter} of {device}[{port}] to {value}: {said[:200]}"
        raise LabError(message)
    return int(held)
