"""NIC settings come back after a reboot, and are read back: the scripts run on a made-up /sys."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path  # noqa: TC003  (pytest's tmp_path)

import pytest
from deployments import build, render

# In the form that mlnx_qos prints (Mellanox mlnx-tools, python/mlnx_qos).
QOS = """DCBX mode: OS controlled
Priority trust state: {trust}
dscp2prio mapping:
	prio:0 dscp:07,06,05,04,03,02,01,00,
	prio:{roce} dscp:31,30,29,28,27,26,25,24,
	prio:6 dscp:55,54,53,52,51,50,49,48,
default priority:
Receive buffer size (bytes): 130944,130944,0,0,0,0,0,0,
PFC configuration:
	priority    0   1   2   3   4   5   6   7
	enabled     0   0   0   {pfc}   0   0   0   0
	buffer      0   0   0   1   0   0   0   0
tc: 0 ratelimit: unlimited, tsa: vendor
"""


class Host:
    """A computer of which files stand for NICs, and scripts for the vendor's programs."""

    def __init__(self, folder: Path) -> None:
        self.intent = build("rocev2-400g")
        self.files = render(self.intent)
        self.sys, self.bin = folder / "sys", folder / "bin"
        self.bin.mkdir(parents=True)
        hosts = self.intent.site.ports_of[0]
        for number, host in enumerate(hosts):
            name, device = f"eth{number}", self.intent.site.interface(host)
            self.put(f"class/infiniband/{device}/device/net/{name}/x", "")
            self.put(f"class/infiniband/{device}/tc/1/traffic_class", "Global tclass=106\n")
            self.put(f"class/net/{name}/mtu", "9000\n")
            for path, value in (
                ("roce_np/enable/3", 1),
                ("roce_rp/enable/3", 1),
                ("roce_np/cnp_dscp", 48),
                ("roce_np/cnp_802p_prio", 6),
            ):
                self.put(f"class/net/{name}/ecn/{path}", f"{value}\n")
        links = [self.intent.host_link(host) for host in hosts]
        addresses = "\n".join(
            f"eth{n}) echo '{n}: eth{n} inet {link.host_address} scope global eth{n}';;"
            for n, link in enumerate(links)
        )
        routes = "\n".join(
            f"{100 + n}) echo '10.128.0.0/9 via {link.switch_address.ip} dev eth{n}';;"
            for n, link in enumerate(links)
        )
        self.program(
            "ip",
            f'if [ "$1" = route ]; then case "$4" in\n{routes}\nesac; else\n'
            f'for last; do :; done\ncase "$last" in\n{addresses}\nesac; fi',
        )
        self.program("cma_roce_tos", "echo 106")
        self.set_qos()

    def put(self, path: str, text: str) -> None:
        target = self.sys / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")

    def program(self, name: str, body: str) -> None:
        path = self.bin / name
        path.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
        path.chmod(0o755)

    def set_qos(self, trust: str = "dscp", roce: int = 3, pfc: int = 1) -> None:
        text = QOS.format(trust=trust, roce=roce, pfc=pfc)
        self.program("mlnx_qos", f"cat <<'END'\n{text}END")

    def check(self) -> tuple[int, str]:
        done = subprocess.run(
            ["sh"],  # noqa: S607
            input=self.files["hosts/n0000/nics-check.sh"],
            text=True,
            capture_output=True,
            check=False,
            env={"PATH": f"{self.bin}:{os.environ['PATH']}", "NETLOOM_SYS": str(self.sys)},
        )
        assert done.stderr == ""
        return done.returncode, done.stdout


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return Host(tmp_path)


def test_a_computer_that_is_set_up_is_found_right(host: Host) -> None:
    assert host.check() == (0, "")


def test_every_setting_is_read_back(host: Host) -> None:
    host.put("class/net/eth3/mtu", "1500\n")
    host.put("class/net/eth2/ecn/roce_rp/enable/3", "0\n")
    host.put("class/infiniband/mlx5_1/tc/1/traffic_class", "Global tclass=0\n")
    code, said = host.check()
    assert code == 1
    assert said.splitlines() == [
        "mlx5_1 traffic_class: is '0', should be '106'",
        "mlx5_2 roce_rp/enable/3: is '0', should be '1'",
        "mlx5_3 mtu: is '1500', should be '9000'",
    ]


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"trust": "pcp"}, "mlx5_0 trust: is 'pcp', should be 'dscp'"),
        ({"pfc": 0}, "mlx5_0 pfc: is '0 0 0 0 0 0 0 0', should be '0 0 0 1 0 0 0 0'"),
        ({"roce": 4}, "mlx5_0 priority of dscp 26: is '4', should be '3'"),
    ],
)
def test_what_a_reboot_resets_is_noticed(host: Host, changes: dict[str, object], line: str) -> None:
    host.set_qos(**changes)  # type: ignore[arg-type]
    code, said = host.check()
    assert code == 1
    assert line in said.splitlines()


def test_a_missing_nic_and_a_missing_address_are_noticed(host: Host) -> None:
    shutil.rmtree(host.sys / "class/infiniband/mlx5_7")
    host.program("ip", "true")
    code, said = host.check()
    assert code == 1
    assert "mlx5_7: is 'missing', should be 'present'" in said
    assert re.search(r"mlx5_0 address: is '', should be '10\.\d+\.\d+\.\d+/31'", said)
    assert re.search(r"mlx5_0 gateway: is '', should be '10\.\d+\.\d+\.\d+'", said)


def test_the_service_runs_at_boot_and_when_a_nic_appears() -> None:
    files = render(build("rocev2-400g"))
    unit, rules = files["hosts/netloom-nics.service"], files["hosts/90-netloom-nics.rules"]
    assert "ExecStart=/etc/netloom/nics.sh\n" in unit
    assert "WantedBy=multi-user.target\n" in unit
    assert "RemainAfterExit" not in unit  # or a NIC that comes back would not start it again
    assert 'ENV{SYSTEMD_WANTS}+="netloom-nics.service"' in rules
    assert 'DRIVERS=="mlx5_core"' in rules


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not here")
def test_systemd_accepts_the_service(tmp_path: Path) -> None:
    text = render(build("rocev2-400g"))["hosts/netloom-nics.service"]
    unit = tmp_path / "netloom-nics.service"
    unit.write_text(text.replace("/etc/netloom/", f"{tmp_path}/"), encoding="utf-8")
    for name in ("nics.sh", "nics-check.sh"):
        (tmp_path / name).write_text("#!/bin/sh\n", encoding="utf-8")
        (tmp_path / name).chmod(0o755)
    done = subprocess.run(  # noqa: S603
        ["systemd-analyze", "verify", "--man=no", str(unit)],  # noqa: S607
        text=True,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
