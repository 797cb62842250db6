"""A switch boots for the first time: real Kea, a real DHCP client, files fetched over HTTP."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path  # noqa: TC003  (pytest's tmp_path)
from typing import TYPE_CHECKING

import pytest

from netloom.cli.main import main

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.lab

SCENARIO = """
cluster: {nodes: 2, node: dgx-h100, fabric: {technology: rocev2-400g}}
job: {model: llama-3.1-8b, training: {sequence: 8192, global_batch: 64}}
site:
  system: SYSTEM
  management: {network: 10.77.0.0/24, gateway: 10.77.0.1}
  zero_touch: {url: 'http://10.77.0.2:8080', interface: server}
"""
MAC = "02:00:00:00:77:01"
# udhcpc calls it with what it was told; 239 comes as hexadecimal digits.
CLIENT = """#!/bin/sh
[ "$1" = bound ] || exit 0
ip address add "$ip/$mask" dev "$interface"
printf '%s\\n' "$ip" "$router" "$hostname" "${bootfile:-$boot_file}" "$opt239" > "$LEASE"
"""


def run(*words: str, **more: str) -> str:
    done = subprocess.run(  # noqa: S603
        words, check=True, capture_output=True, text=True, env={**os.environ, **more}
    )
    return done.stdout


@contextmanager
def namespace(name: str) -> Iterator[str]:
    run("ip", "netns", "add", name)
    try:
        yield name
    finally:
        run("ip", "netns", "delete", name)


@contextmanager
def program(*words: str, **more: str) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(words, env={**os.environ, **more}) as process:  # noqa: S603
        try:
            yield process
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(10)


@pytest.fixture
def wire() -> Iterator[tuple[str, str]]:
    """Give a namespace of servers and one of a switch, with a cable between them."""
    missing = [one for one in ("ip", "kea-dhcp4", "udhcpc") if shutil.which(one) is None]
    if missing or os.geteuid() != 0:
        pytest.skip(f"needs root and {', '.join(missing) or 'nothing else'}")
    mark = f"nlz{os.getpid()}"
    with ExitStack() as stack:
        server, switch = (stack.enter_context(namespace(f"{mark}{end}")) for end in "ab")
        run("ip", "-n", server, "link", "add", "server", "type", "veth", "peer", "name", "eth0")
        run("ip", "-n", server, "link", "set", "eth0", "address", MAC, "netns", switch)
        for name, port in ((server, "server"), (switch, "eth0"), (server, "lo"), (switch, "lo")):
            run("ip", "-n", name, "link", "set", port, "up")
        run("ip", "-n", server, "address", "add", "10.77.0.2/24", "dev", "server")
        yield server, switch


def written(folder: Path, system: str) -> Path:
    scenario, macs, out = folder / "x.yaml", folder / "macs.csv", folder / "out"
    scenario.write_text(SCENARIO.replace("SYSTEM", system), encoding="utf-8")
    macs.write_text(f"leaf000,{MAC}\n", encoding="utf-8")
    assert main(["deploy", "ztp", str(scenario), "--macs", str(macs), "--out", str(out)]) == 0
    # Leases go to the test's folder; the rest of the file is as it was written.
    path = out / "kea/kea-dhcp4.conf"
    config = json.loads(path.read_text(encoding="utf-8"))
    config["Dhcp4"]["lease-database"]["name"] = str(folder / "leases.csv")
    path.write_text(json.dumps(config), encoding="utf-8")
    return out


def boot(folder: Path, server: str, switch: str, out: Path) -> list[str]:
    """Return what the client was told, line by line."""
    script, lease = folder / "client.sh", folder / "lease"
    script.write_text(CLIENT, encoding="utf-8")
    script.chmod(0o755)
    within = ("ip", "netns", "exec", server)
    places = {"KEA_LOCKFILE_DIR": str(folder), "KEA_PIDFILE_DIR": str(folder)}
    with program(*within, "kea-dhcp4", "-c", str(out / "kea/kea-dhcp4.conf"), **places):
        client = ("udhcpc", "-i", "eth0", "-n", "-q", "-t", "20", "-T", "1", "-s", str(script))
        options = ("-O", "bootfile", "-O", "239", "-O", "hostname")
        run("ip", "netns", "exec", switch, *client, *options, LEASE=str(lease))
    return lease.read_text(encoding="utf-8").splitlines()


def fetched(server: str, switch: str, folder: Path, url: str) -> str:
    """Return what the web server gives the switch."""
    serve = (sys.executable, "-m", "http.server", "8080", "--directory", str(folder))
    with program("ip", "netns", "exec", server, *serve):
        code = "import sys, urllib.request as r; print(r.urlopen(sys.argv[1]).read().decode())"
        for _ in range(50):
            try:
                return run("ip", "netns", "exec", switch, sys.executable, "-c", code, url)
            except subprocess.CalledProcessError:
                time.sleep(0.2)
    pytest.fail(f"{url} was never served")


@pytest.mark.parametrize(
    ("system", "file", "holds"),
    [
        ("sonic", "ztp.json", "01-configdb-json"),
        ("cumulus", "cumulus-ztp.sh", "nv config replace"),
        ("eos", "startup-config", "hostname leaf000"),
    ],
)
def test_a_switch_that_boots_gets_its_address_and_fetches_its_first_file(
    system: str, file: str, holds: str, wire: tuple[str, str], tmp_path: Path
) -> None:
    out = written(tmp_path, system)
    address, router, hostname, boot_file, other = boot(tmp_path, *wire, out)
    assert (address, router, hostname) == ("10.77.0.10", "10.77.0.1", "leaf000")
    told = bytes.fromhex(other).decode() if system == "cumulus" else boot_file
    assert told == f"http://10.77.0.2:8080/leaf000/{file}"
    text = fetched(*wire, out / "http", told)
    assert holds in text
    if system == "sonic":
        source = json.loads(text)["ztp"]["01-configdb-json"]["url"]["source"]
        tables = json.loads(fetched(*wire, out / "http", source))
        assert tables["DEVICE_METADATA"]["localhost"]["hostname"] == "leaf000"
        assert tables["MGMT_INTERFACE"] == {"eth0|10.77.0.10/24": {"gwaddr": "10.77.0.1"}}


def test_a_stranger_gets_nothing(wire: tuple[str, str], tmp_path: Path) -> None:
    out = written(tmp_path, "sonic")
    server, switch = wire
    run("ip", "-n", switch, "link", "set", "eth0", "address", "02:00:00:00:77:99")
    with pytest.raises(subprocess.CalledProcessError):
        boot(tmp_path, server, switch, out)
