"""Start, watch and stop programs of this machine: argument lists only, output bounded.

What a program prints is hostile input: it is cut at a size, and bytes that are not UTF-8 are
replaced, before anybody parses it.
"""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final, TypeVar

from netloom.errors import LabError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

__all__ = [
    "PACKAGES",
    "Running",
    "find_program",
    "hang_up",
    "is_running",
    "kill",
    "marked",
    "missing_packages",
    "read_tail",
    "run",
    "start",
    "start_ticks",
    "stop",
    "wait_for",
]

# Where Debian 12 keeps each program: dpkg -S on that system.
PACKAGES: Final = {
    "ibsim": "ibsim-utils",
    "libumad2sim.so": "libumad2sim0",
    "opensm": "opensm",
    "ibnetdiscover": "infiniband-diags",
    "iblinkinfo": "infiniband-diags",
    "ibportstate": "infiniband-diags",
    "ibqueryerrors": "infiniband-diags",
    "ibroute": "infiniband-diags",
    "perfquery": "infiniband-diags",
    "sminfo": "infiniband-diags",
    "ip": "iproute2",
    "tc": "iproute2",
    "nft": "nftables",
    "nsenter": "util-linux",
    "vtysh": "frr",
    "zebra": "frr",
    "bgpd": "frr",
    "bfdd": "frr",
    "frr-reload.py": "frr-pythontools",
    "smpquery": "infiniband-diags",
    "yanglint": "libyang2-tools",
    "redis-server": "redis-server",
    "victoria-metrics": "victoria-metrics",
    "prometheus-node-exporter": "prometheus-node-exporter",
    "snmpd": "snmpd",
    "snmpbulkwalk": "snmp",
    "lldpd": "lldpd",
    "lldpcli": "lldpd",
    "ethtool": "ethtool",
    "openssl": "openssl",
    "ssh": "openssh-client",
    "ssh-keygen": "openssh-client",
    "sshd": "openssh-server",
    "scontrol": "slurm-client",
    "prometheus-alertmanager": "prometheus-alertmanager",
    "amtool": "prometheus-alertmanager",
}
# Debian's PATH for users leaves sbin out, and FRR's daemons are in no PATH.
FOLDERS: Final = ("/usr/sbin", "/sbin", "/usr/lib/frr", "/usr/local/sbin")
MAX_BYTES: Final = 256 * 2**20  # ibnetdiscover -p of 65,536 ports is some 10 MB
ENVIRONMENT: Final = ("HOME", "LANG", "PATH", "TMPDIR", "USER")  # what programs get of ours
STEP_S: Final = 0.01

_Value = TypeVar("_Value")


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """A process that was started: its id and its start in clock ticks since boot."""

    pid: int
    started: int

    @property
    def is_alive(self) -> bool:
        """Whether it still runs."""
        return is_running(self.pid, self.started)


def find_program(name: str) -> str:
    """Return the path of a program.

    Raises:
        LabError: it is not installed; the message names its Debian package.
    """
    path = os.pathsep.join([os.environ.get("PATH", os.defpath), *FOLDERS])
    found = shutil.which(name, path=path)
    if found is None:
        package = PACKAGES.get(name, name)
        raise LabError(
            what=f"{name} is not installed",
            remedy=f"apt-get install {package} (Debian's name for it)",
        )
    return found


def missing_packages(names: Iterable[str]) -> tuple[str, ...]:
    """Return the Debian packages that hold those of these programs that are not installed."""
    absent: dict[str, None] = {}
    for name in names:
        try:
            find_program(name)
        except LabError:
            absent[PACKAGES.get(name, name)] = None
    return tuple(absent)


def run(
    argv: Sequence[str],
    *,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    text: str = "",
    timeout_s: float = 60.0,
    lenient: bool = False,
) -> str:
    """Run a program to its end and return what it printed, at most :data:`MAX_BYTES` of it.

    Args:
        argv: The program's name and its arguments; no shell sees them.
        env: More environment for it.
        cwd: Its working directory.
        text: Its standard input.
        timeout_s: After which it is killed.
        lenient: Whether an exit status other than 0 is no error so long as it printed something:
            some programs give it whenever any of many devices did not answer.

    Raises:
        LabError: it is not installed, failed, or did not end in time.
    """
    command = [find_program(argv[0]), *argv[1:]]
    with (
        tempfile.TemporaryFile() as given,
        tempfile.TemporaryFile() as out,
        tempfile.TemporaryFile() as err,
    ):
        given.write(text.encode())
        given.seek(0)
        try:
            status = _status(
                command, timeout_s, env=_environment(env), cwd=cwd, std=(given, out, err)
            )
        except subprocess.TimeoutExpired as error:
            raise LabError(
                what=f"{_shown(argv)}: no end after {timeout_s:g} s",
                remedy="look at what it waits for",
            ) from error
        except (OSError, ValueError) as error:
            raise LabError(
                what=f"{_shown(argv)}: cannot be run ({error})", remedy="check the installation"
            ) from error
        said = _text(out)
        if status and not (lenient and said.strip()):
            raise LabError(_failed(argv, status, _text(err) + said))
        return said


def _status(
    command: Sequence[str],
    timeout_s: float,
    *,
    env: Mapping[str, str],
    cwd: Path | None,
    std: tuple[IO[bytes], IO[bytes], IO[bytes]],
) -> int:
    """Run a program and return its exit status.

    The kernel says when it has ended: :meth:`subprocess.Popen.wait` with a time-out looks for
    that every 50 ms, which is as long as most of our programs take.

    Raises:
        subprocess.TimeoutExpired: it did not end in time, and was killed.
    """
    given, out, err = std
    with subprocess.Popen(  # noqa: S603  (an argument list, never a shell)
        command, env=dict(env), cwd=cwd, stdin=given, stdout=out, stderr=err
    ) as process:
        ended = os.pidfd_open(process.pid)
        try:
            waiting = select.poll()
            waiting.register(ended, select.POLLIN)
            in_time = waiting.poll(1000 * timeout_s)
        except BaseException:  # Ctrl-C too
            process.kill()
            raise
        finally:
            os.close(ended)
        if not in_time:
            process.kill()
            raise subprocess.TimeoutExpired(command, timeout_s)
        return process.wait()


def _text(stream: IO[bytes]) -> str:
    stream.seek(0)
    return stream.read(MAX_BYTES).decode("utf-8", errors="replace")


def _shown(argv: Sequence[str]) -> str:
    shown = " ".join(argv)
    return shown if len(shown) <= 120 else f"{shown[:117]}..."


def _failed(argv: Sequence[str], status: int, output: str) -> str:
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    said = "".join(c if c.isprintable() else "?" for c in (lines[-1] if lines else "nothing"))
    return f"{_shown(argv)}: exit status {status}, it said: {said[:200]}"


def _environment(more: Mapping[str, str] | None) -> dict[str, str]:
    kept = {name: os.environ[name] for name in ENVIRONMENT if name in os.environ}
    return {**kept, **(more or {})}


def start(
    argv: Sequence[str],
    *,
    env: Mapping[str, str],
    cwd: Path,
    output: Path,
    stdin: int | None = None,
) -> Running:
    """Start a program that goes on after us, in a session of its own.

    Args:
        argv: The program's name and its arguments.
        env: More environment for it, the lab's mark among it.
        cwd: Its working directory.
        output: The file for what it prints, replaced.
        stdin: A file descriptor; default: nothing.

    Raises:
        LabError: it is not installed, or cannot be started.
    """
    command = [find_program(argv[0]), *argv[1:]]
    try:
        with output.open("wb") as out:
            process = subprocess.Popen(  # noqa: S603  (an argument list, never a shell)
                command,
                env=_environment(env),
                cwd=cwd,
                stdin=subprocess.DEVNULL if stdin is None else stdin,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
    except OSError as error:
        raise LabError(
            what=f"{_shown(argv)}: cannot be started ({error.strerror})",
            remedy="check the installation",
        ) from error
    process.returncode = 0  # it is meant to outlive us: let Python not warn of that
    return Running(pid=process.pid, started=start_ticks(process.pid) or 0)


def start_ticks(pid: int) -> int | None:
    """Return when a process started, in clock ticks since boot; None when it is gone.

    A zombie is gone: it has ended, and only its parent has not noticed.
    """
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    except OSError:
        return None
    fields = stat.rpartition(")")[2].split()  # the name before it may hold anything
    if len(fields) < 20 or fields[0] in {"Z", "X"}:
        return None
    return int(fields[19])


def is_running(pid: int, started: int) -> bool:
    """Return whether the process of this id is still the one that started then."""
    return pid > 0 and start_ticks(pid) == started


def marked(variable: str, value: str) -> tuple[Running, ...]:
    """Return every process that has ``variable=value`` in the environment it started with.

    Those whose environment we may not read are left out; they are other people's.
    """
    wanted = f"{variable}={value}".encode(errors="surrogateescape")
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            variables = (entry / "environ").read_bytes().split(b"\0")
        except OSError:
            continue
        ticks = start_ticks(int(entry.name)) if wanted in variables else None
        if ticks is not None:
            found.append(Running(pid=int(entry.name), started=ticks))
    return tuple(sorted(found, key=lambda one: one.pid))


def stop(processes: Sequence[Running], *, patience_s: float = 2.0) -> None:
    """End processes: asked first, killed when they have not gone after *patience_s*.

    Only a process that still is the one that was meant gets a signal.
    """
    _signal(processes, signal.SIGTERM)
    if not _gone(processes, patience_s):
        _signal(processes, signal.SIGKILL)
        _gone(processes, patience_s)


def kill(process: Running) -> None:
    """End a process at once, as a crash would."""
    _signal([process], signal.SIGKILL)


def hang_up(process: Running) -> None:
    """Send a process SIGHUP, by which daemons read their files again."""
    _signal([process], signal.SIGHUP)


def _signal(processes: Sequence[Running], number: signal.Signals) -> None:
    for one in processes:
        if is_running(one.pid, one.started):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(one.pid, number)


def _gone(processes: Sequence[Running], wait_s: float) -> bool:
    def none_left() -> bool | None:
        return True if not any(is_running(p.pid, p.started) for p in processes) else None

    return wait_for(none_left, timeout_s=wait_s) is not None


def wait_for(
    probe: Callable[[], _Value | None], *, timeout_s: float, step_s: float = STEP_S
) -> _Value | None:
    """Return the first value that *probe* gives, asked again and again; None when time is up."""
    end_s = time.monotonic() + timeout_s
    while True:
        value = probe()
        if value is not None or time.monotonic() >= end_s:
            return value
        time.sleep(step_s)


def read_tail(path: Path, *, offset: int = 0, most_bytes: int = MAX_BYTES) -> str:
    """Return the text of a file from *offset* on, its last *most_bytes*; empty without a file."""
    try:
        with path.open("rb") as file:
            end = file.seek(0, os.SEEK_END)
            file.seek(max(offset, end - most_bytes))
            return file.read(most_bytes).decode("utf-8", errors="replace")
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise LabError(
            file=str(path),
            what=f"cannot be read ({error.strerror})",
            remedy="bring the lab up again",
        ) from error
