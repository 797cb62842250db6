"""Tenants on a RoCE lab: real FRR, real VXLAN, and packets that arrive or do not."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from labs_under_test import LabUnderTest, need, wait_until

from netloom.app.deploy.frr_target import FrrTarget
from netloom.app.deploy.isolation import check_isolation
from netloom.app.deploy.lab_targets import targets_of
from netloom.app.lab.labs import bring_down
from netloom.app.lab.probes import Flow, probe
from netloom.app.lab.store import LabFolder
from netloom.cli.main import main
from netloom.drivers import frr, netns
from netloom.drivers.programs import missing_packages, run
from netloom.ops.deploy.changes import apply_all
from netloom.ops.deploy.intent import intent_of
from netloom.ops.lab import namespace_of
from netloom.spec.load import load
from netloom.study.inputs import catalog_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from netloom.ops.deploy.intent import Intent

pytestmark = pytest.mark.lab

# Two rails with two leaves each; every leaf has a port of two nodes, so that it is shared.
OWN = """
[switches.Tomahawk-5]
modes = [{ count = 2, rate = "800Gbps" }, { count = 4, rate = "400Gbps" }]
[nodes.pcie-h100-8]
num_nics = 2
"""
SCENARIO = """
cluster:
  nodes: 4
  node: pcie-h100-8
  fabric: {technology: rocev2-400g, topology: {kind: rail-fat-tree}}
job: {model: llama-3.1-8b, training: {sequence: 8192, global_batch: 64}}
catalog: own.toml
"""
# Nodes 0 and 2 are red's, node 1 is blue's, node 3 is nobody's.
TENANTS = 'tenants: [{name: red, nodes: "0,2"}, {name: blue, nodes: "1"}]\n'
PROGRAM = "import sys; from netloom.cli.main import main; sys.exit(main(sys.argv[1:]))"
OWNER = ("red", "red", "blue", "blue", "red", "red", "", "")  # of nic:0 to nic:7


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabUnderTest]:
    need("roce")
    missing = missing_packages(["frr-reload.py"])
    if missing:
        pytest.skip(f"apt-get install {' '.join(missing)}")
    folder = tmp_path_factory.mktemp("tenants")
    (folder / "own.toml").write_text(OWN, encoding="utf-8")
    (folder / "flat.yaml").write_text(SCENARIO, encoding="utf-8")
    (folder / "tenants.yaml").write_text(SCENARIO + TENANTS, encoding="utf-8")
    labs = folder / "labs"
    scenario = str(folder / "flat.yaml")
    assert main(["lab", "up", scenario, "--name", "tenants", "--dir", str(labs)]) == 0
    made = LabUnderTest(LabFolder.of("tenants", labs))
    try:
        yield made
    finally:
        bring_down(made.place)


def scenario_of(lab: LabUnderTest, name: str) -> Path:
    return lab.place.path.parent.parent / f"{name}.yaml"


def intent_at(path: Path) -> Intent:
    scenario = load(path)
    return intent_of(scenario, catalog_of(scenario, None))


def arguments(lab: LabUnderTest, verb: str, name: str) -> list[str]:
    where = ["--lab", lab.place.name, "--dir", str(lab.place.path.parent)]
    return ["deploy", verb, str(scenario_of(lab, name)), *where, "--json"]


def apply(lab: LabUnderTest, name: str, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    capsys.readouterr()
    code = main(arguments(lab, "apply", name))
    said: dict[str, Any] = json.loads(capsys.readouterr().out)["result"]
    assert code == 0, said
    return said


def arrivals(lab: LabUnderTest) -> dict[tuple[int, int], float]:
    """Return the share of datagrams that arrive, of both sizes together, between all NIC ports."""
    hosts = range(len(OWNER))
    flows = [
        Flow(source=source, target=target, source_port=0xC000 + target, is_large=is_large)
        for source in hosts
        for target in hosts
        if source != target
        for is_large in (False, True)
    ]
    found: dict[tuple[int, int], float] = {}
    for one in probe(lab.place, lab.place.read_plant(), flows):
        pair = (one.flow.source, one.flow.target)
        found[pair] = found.get(pair, 0.0) + (one.sent - one.lost) / (2 * one.sent)
    return found


def check_apart(lab: LabUnderTest) -> None:
    """Assert that whoever belongs together hears all, and nobody else anything.

    The first datagrams after a change may wait for an address, so that is tried again.
    """
    inside = {
        (one, other): bool(OWNER[one]) and OWNER[one] == OWNER[other]
        for one in range(len(OWNER))
        for other in range(len(OWNER))
        if one != other
    }
    seen: dict[tuple[int, int], float] = {}

    def together() -> bool:
        seen.update(arrivals(lab))
        # Never, at no moment, does anything come across.
        assert {pair for pair, share in seen.items() if share and not inside[pair]} == set()
        return all(seen[pair] == 1.0 for pair, is_inside in inside.items() if is_inside)

    assert wait_until(together), seen


def leaf(lab: LabUnderTest, index: int) -> str:
    return namespace_of(lab.place.mark, f"leaf:{index}")


def test_tenants_on_shared_leaves_are_apart_and_together_again(
    lab: LabUnderTest, capsys: pytest.CaptureFixture[str]
) -> None:
    apply(lab, "flat", capsys)
    assert wait_until(lambda: set(arrivals(lab).values()) == {1.0})
    done = apply(lab, "tenants", capsys)
    assert done["findings"] == []
    check_apart(lab)
    assert main(arguments(lab, "plan", "tenants")) == 0
    changes = json.loads(capsys.readouterr().out)["result"]["changes"]
    assert [one["lines"] for one in changes] == [[]] * len(changes)
    apply(lab, "flat", capsys)
    assert wait_until(lambda: set(arrivals(lab).values()) == {1.0})


def test_tenants_stay_apart_when_a_cable_between_switches_is_pulled(
    lab: LabUnderTest, capsys: pytest.CaptureFixture[str]
) -> None:
    apply(lab, "tenants", capsys)
    plant = lab.place.read_plant()
    cable = next(c for c in plant.cables if plant.devices[c.lower.device].name == "leaf:0")
    lab.fault("unlink", f"cable:{cable.number}")
    try:
        check_apart(lab)
    finally:
        lab.fault("relink", f"cable:{cable.number}")
    check_apart(lab)


def test_a_route_target_of_another_tenant_is_found_and_taken_away(
    lab: LabUnderTest, capsys: pytest.CaptureFixture[str]
) -> None:
    apply(lab, "tenants", capsys)
    intent = intent_at(scenario_of(lab, "tenants"))
    number = next(d for d, one in enumerate(lab.place.read_plant().devices) if one.name == "leaf:1")
    leak = [
        *("-c", "configure terminal", "-c", f"router bgp {intent.router(number).asn} vrf Vrfblue"),
        *("-c", "address-family l2vpn evpn", "-c", "route-target import 64512:10001"),
    ]
    run(frr.vtysh_argv(leaf(lab, 1), leak))

    def leaks() -> bool:
        found = check_isolation(lab.place, intent, settle_s=0.0)
        return any("not its tenant's" in one.what for one in found)

    assert wait_until(leaks)
    states = {one["device"]: one["state"] for one in apply(lab, "tenants", capsys)["devices"]}
    assert states.pop("leaf001") == "applied"
    assert set(states.values()) == {"unchanged"}
    check_apart(lab)


def test_a_change_that_fails_leaves_vrfs_as_they_were(
    lab: LabUnderTest, capsys: pytest.CaptureFixture[str]
) -> None:
    apply(lab, "tenants", capsys)
    flat = targets_of(lab.place, intent_at(scenario_of(lab, "flat")))
    first, second = (one for one in flat[:2] if isinstance(one, FrrTarget))
    wrong = first.text.replace("remote-as external", "remote-as internal")
    refused = second.text.replace("router bgp", "ruoter bgp")
    done = list(
        apply_all([replace(first, text=wrong, settle_s=4.0), replace(second, text=refused)])
    )
    assert [one.state for one in done] == ["rolled back", "refused"]
    assert main(arguments(lab, "plan", "tenants")) == 0
    changes = json.loads(capsys.readouterr().out)["result"]["changes"]
    assert [one["lines"] for one in changes] == [[]] * len(changes)
    check_apart(lab)


# Waits for a datagram, until it is told that all are sent and two seconds more; sends one inside
# of VXLAN, to every leaf, as a tunnel's other end would.
HEAR = """
import select, socket, sys
ear = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
ear.bind(("0.0.0.0", 5555))
print("ready", flush=True)
if ear in select.select([ear, sys.stdin], [], [])[0] or select.select([ear], [], [], 2)[0]:
    print(ear.recv(100).decode(), flush=True)
else:
    print("nothing", flush=True)
"""
FORGE = """
import ipaddress, socket, struct, sys
vni, source, target, *leaves = sys.argv[1:]
data = struct.pack("!HHHH", 5555, 5555, 8 + 6, 0) + b"forged"
head = struct.pack(
    "!BBHHHBBH4s4s", 0x45, 0, 20 + len(data), 0, 0, 64, 17, 0,
    ipaddress.ip_address(source).packed, ipaddress.ip_address(target).packed,
)
total = sum(struct.unpack("!10H", head))
total = ~((total & 0xFFFF) + (total >> 16)) & 0xFFFF
head = head[:10] + struct.pack("!H", total) + head[12:]
mouth = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for leaf in leaves:
    mac = b"\\x02\\x6e" + ipaddress.ip_address(leaf).packed
    frame = mac + b"\\x02" * 6 + b"\\x08\\x00" + head + data
    outer = struct.pack("!II", 0x08000000, int(vni) << 8) + frame
    try:
        mouth.sendto(outer, (leaf, 4789))
    except OSError:
        pass
"""


def heard(lab: LabUnderTest, intent: Intent, sender: str) -> str:
    """Return what nic:2, blue's, hears when *sender* forges a packet of blue's network."""
    blue = intent.host_link(2).host_address.ip
    source = intent.host_link(3).host_address.ip  # another of blue's
    assert intent.underlay is not None
    leaves = [str(router.loopback) for router in intent.underlay.routers]
    ear = [*netns.exec_argv(namespace_of(lab.place.mark, "nic:2"), [sys.executable, "-c", HEAR])]
    with subprocess.Popen(  # noqa: S603
        ear, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        forge = [sys.executable, "-c", FORGE, "10002", str(source), str(blue), *leaves]
        for _ in range(3):
            run(netns.exec_argv(namespace_of(lab.place.mark, sender), forge))
            time.sleep(0.2)  # a leaf that has no address of nic:2 yet asks for it
        process.stdin.close()
        return process.stdout.readline().strip()


def test_a_tenant_cannot_forge_packets_of_another(
    lab: LabUnderTest, capsys: pytest.CaptureFixture[str]
) -> None:
    apply(lab, "tenants", capsys)
    intent = intent_at(scenario_of(lab, "tenants"))
    # From a spine it works, so the packet is a good one: whoever reaches a tunnel's end is in.
    assert wait_until(lambda: heard(lab, intent, "spine:0") == "forged")
    # red, on the leaf that nic:2 is on, and the node of nobody's.
    assert heard(lab, intent, "nic:0") == "nothing"
    assert heard(lab, intent, "nic:6") == "nothing"


def test_an_apply_that_is_killed_is_finished_by_the_next(
    lab: LabUnderTest, capsys: pytest.CaptureFixture[str]
) -> None:
    apply(lab, "flat", capsys)
    saved = [frr.CONFIGURATION / leaf(lab, index) / "frr.conf" for index in range(4)]

    def num_done() -> int:
        return sum("Vrf" in path.read_text(encoding="utf-8") for path in saved)

    assert num_done() == 0
    command = [sys.executable, "-c", PROGRAM, *arguments(lab, "apply", "tenants")]
    process = subprocess.Popen(  # noqa: S603  (our own program)
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    assert wait_until(lambda: num_done() > 0)
    os.kill(process.pid, signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert 1 <= num_done() < 4
    assert apply(lab, "tenants", capsys)["findings"] == []
    check_apart(lab)
