"""Real sshd and ssh: one daemon stands for one device, with the programs that it has.

The ``ssh`` that netloom finds first counts the calls that change something (by sudo), and can kill
netloom at one of them.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from devices_under_test import answers, daemon, free_port, need

from netloom.drivers.programs import find_program

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    import pytest

WRAPPER = """#!/bin/sh
case "$*" in *sudo*) ;; *) exec {ssh} -F {folder}/ssh_config "$@" ;; esac
count=$(cat {folder}/calls 2>/dev/null || echo 0)
count=$((count + 1))
echo $count > {folder}/calls
wanted=$(cat {folder}/kill 2>/dev/null || echo none)
if [ "$wanted" = "before $count" ]; then kill -9 $PPID; exit 1; fi
if [ "$wanted" = "after $count" ]; then
    {ssh} -F {folder}/ssh_config "$@"
    kill -9 $PPID
    exit 1
fi
exec {ssh} -F {folder}/ssh_config "$@"
"""


@dataclass(frozen=True)
class SshSite:
    """Keys, and the ``ssh`` that uses them."""

    folder: Path

    @contextmanager
    def device(self, name: str, programs: Path, env: Mapping[str, str]) -> Iterator[str]:
        """Run an sshd whose commands find *programs* first; give its address."""
        port = free_port()
        path = f"{programs}:/usr/sbin:/usr/bin:/sbin:/bin"
        values = " ".join(shlex.quote(f"{k}={v}") for k, v in {**env, "PATH": path}.items())
        config = self.folder / f"sshd-{name}"
        config.write_text(
            f"ListenAddress 127.0.0.1:{port}\nHostKey {self.folder}/host\nUsePAM no\n"
            f"AuthorizedKeysFile {self.folder}/key.pub\nStrictModes no\nPidFile none\n"
            f"PermitRootLogin yes\nPasswordAuthentication no\nSetEnv {values}\nLogLevel ERROR\n",
            encoding="utf-8",
        )
        argv = [find_program("sshd"), "-D", "-e", "-f", str(config)]
        with daemon(argv, self.folder, lambda: answers(port)):
            yield f"ssh://root@127.0.0.1:{port}"

    def calls(self) -> int:
        path = self.folder / "calls"
        return int(path.read_text(encoding="utf-8")) if path.exists() else 0

    def kill_at(self, when: str, call: int) -> None:
        """Kill netloom ``before`` or ``after`` a call of ssh, counted from now."""
        self.folder.joinpath("calls").unlink(missing_ok=True)
        self.folder.joinpath("kill").write_text(f"{when} {call}\n", encoding="utf-8")

    def kill_never(self) -> None:
        self.folder.joinpath("kill").unlink(missing_ok=True)


def ssh_site(folder: Path, monkeypatch: pytest.MonkeyPatch) -> SshSite:
    """Make keys, and let netloom find an ssh that uses them."""
    need("sshd", "ssh", "ssh-keygen")
    folder.mkdir()
    os.makedirs("/run/sshd", exist_ok=True)  # noqa: PTH103  (sshd's own)
    for name in ("host", "key"):
        argv = [find_program("ssh-keygen"), "-q", "-t", "ed25519", "-N", "", "-f"]
        subprocess.run([*argv, str(folder / name)], check=True)  # noqa: S603  (a test's keys)
    short = tempfile.mkdtemp(prefix="nl-")  # a socket's path has 108 characters at most
    (folder / "ssh_config").write_text(
        f"Host *\n  IdentityFile {folder}/key\n  IdentitiesOnly yes\n"
        f"  UserKnownHostsFile {folder}/known\n  StrictHostKeyChecking accept-new\n"
        f"  LogLevel ERROR\n  ControlMaster auto\n  ControlPath {short}/%p\n  ControlPersist 30\n",
        encoding="utf-8",
    )
    programs = folder / "bin"
    programs.mkdir()
    write_program(programs / "ssh", WRAPPER.format(folder=folder, ssh=find_program("ssh")))
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    return SshSite(folder)


def write_program(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)


def wait_until(is_so: object, timeout_s: float = 30.0) -> None:
    assert callable(is_so)
    deadline_s = time.monotonic() + timeout_s
    while not is_so():
        assert time.monotonic() < deadline_s
        time.sleep(0.05)
