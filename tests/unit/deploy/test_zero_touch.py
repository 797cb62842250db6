"""Zero-touch provisioning: what Kea and the web server give to a switch that boots first."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path  # noqa: TC003  (pytest's tmp_path)
from typing import Any

import pytest
from deployments import build
from hypothesis import given
from hypothesis import strategies as st

from netloom.app.deploy import Deployment, ztp
from netloom.cli.main import main
from netloom.errors import NetloomError, SpecError
from netloom.formats.zero_touch.macs import parse_macs

SITE = """{management: {network: 10.9.0.0/22, gateway: 10.9.0.1},
  zero_touch: {url: 'http://10.9.0.2:8080/day0', interface: veth0}, dns: [10.9.0.3],
  snmp: {}, systems: {spine: eos, leaf001: cumulus, leaf002: frr}}"""
MACS = """name,mac
leaf000,00:11:22:33:44:55
leaf001,00-11-22-33-44-56
leaf002,0011.2233.4457
# the spines
spine000,00:11:22:33:44:58
"""


@pytest.fixture
def macs(tmp_path: Path) -> Path:
    path = tmp_path / "macs.csv"
    path.write_text(MACS, encoding="utf-8")
    return path


def deployment(site: str = SITE) -> Deployment:
    return Deployment(intent=build("rocev2-400g", site=site))


def reservations(text: str) -> dict[str, Any]:
    (subnet,) = json.loads(text)["Dhcp4"]["subnet4"]
    return {row["hostname"]: row for row in subnet["reservations"]}


def test_each_switch_is_told_its_own_first_file(macs: Path) -> None:
    report = ztp(deployment(), macs)
    found = reservations(report.files["kea/kea-dhcp4.conf"])
    url = "http://10.9.0.2:8080/day0"
    assert found["leaf000"] == {
        "hw-address": "00:11:22:33:44:55",
        "ip-address": "10.9.0.10",  # the tenth of the network is the first switch's
        "hostname": "leaf000",
        "option-data": [
            {
                "name": "boot-file-name",
                "data": f"{url}/leaf000/ztp.json",
                "always-send": True,
            }
        ],
    }
    (option,) = found["leaf001"]["option-data"]
    assert (option["name"], option["data"]) == ("provision-url", f"{url}/leaf001/cumulus-ztp.sh")
    (option,) = found["spine000"]["option-data"]
    assert (option["name"], option["data"]) == ("boot-file-name", f"{url}/spine000/startup-config")
    assert "option-data" not in found["leaf002"]  # Linux with FRR asks for nothing
    assert "spine001" in report.unreserved
    assert report.variables == ("SNMP_COMMUNITY",)


def test_what_a_first_file_names_is_in_the_folder(macs: Path) -> None:
    files = ztp(deployment(), macs).files
    plan = json.loads(files["http/leaf000/ztp.json"])["ztp"]
    assert list(plan) == sorted(plan)  # SONiC runs sections in the order of their names
    base = "http://10.9.0.2:8080/day0/"
    named = [
        plan["01-configdb-json"]["url"]["source"],
        plan["02-routing"]["plugin"]["url"],
        *(
            word
            for name in ("leaf000/routing.sh", "leaf001/cumulus-ztp.sh")
            for word in files[f"http/{name}"].split()
            if word.startswith("http")
        ),
    ]
    assert len(named) == 4
    for url in named:
        assert f"http/{url.removeprefix(base)}" in files, url
    assert "# CUMULUS-AUTOPROVISIONING\n" in files["http/leaf001/cumulus-ztp.sh"]
    assert json.loads(files["http/leaf000/config_db.json"])["MGMT_INTERFACE"] == {
        "eth0|10.9.0.10/22": {"gwaddr": "10.9.0.1"}
    }
    for name in ("leaf000/routing.sh", "leaf001/cumulus-ztp.sh"):
        subprocess.run(["sh", "-n"], input=files[f"http/{name}"], text=True, check=True)  # noqa: S607


@pytest.mark.skipif(shutil.which("kea-dhcp4") is None, reason="kea-dhcp4-server is not here")
def test_kea_accepts_its_file(macs: Path, tmp_path: Path) -> None:
    path = tmp_path / "kea-dhcp4.conf"
    text = ztp(deployment(SITE.replace("veth0", "lo")), macs).files["kea/kea-dhcp4.conf"]
    path.write_text(text, encoding="utf-8")
    done = subprocess.run(  # noqa: S603
        ["kea-dhcp4", "-t", str(path)],  # noqa: S607
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": "/usr/sbin:/usr/bin", "KEA_LOCKFILE_DIR": str(tmp_path)},
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("site", "what"),
    [
        ("{}", r"site\.management: missing.*network: 10"),
        (
            "{management: {network: 10.9.0.0/22, gateway: 10.9.0.1}}",
            r"site\.zero_touch: missing.*url: http",
        ),
        (
            SITE.replace("10.9.0.0/22, gateway", "10.9.0.0/28, gateway"),
            r"10\.9\.0\.0/28 has no room for 12 switches",
        ),
        (
            SITE.replace("gateway: 10.9.0.1", "gateway: 10.9.0.12"),
            r"10\.9\.0\.12 is also that of leaf002",
        ),
    ],
)
def test_a_site_that_says_too_little_is_refused(site: str, what: str, macs: Path) -> None:
    with pytest.raises(SpecError, match=what):
        ztp(deployment(site), macs)


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("leaf000", "is not a switch and its MAC address"),
        ("leaf000,00:11:22:33:44", "is not a switch and its MAC address"),
        ("leaf000,00:11:22:33:44:55\nleaf000,00:11:22:33:44:56", "twice"),
        ("leaf000,00:11:22:33:44:55\nleaf001,00:11:22:33:44:55", "twice"),
        ("leaf999,00:11:22:33:44:55", "leaf999 is no switch of the scenario"),
    ],
)
def test_a_list_that_is_wrong_is_refused(line: str, what: str, tmp_path: Path) -> None:
    path = tmp_path / "macs.csv"
    path.write_text(line, encoding="utf-8")
    with pytest.raises(SpecError, match=what):
        ztp(deployment(), path)


@given(text=st.text(max_size=200))
def test_any_list_gives_addresses_or_an_error(text: str) -> None:
    try:
        found = parse_macs(text, "macs.csv")
    except NetloomError:
        return
    except Exception as error:  # noqa: BLE001
        pytest.fail(repr(error))
    assert all(len(mac) == 17 for mac in found.values())


def test_the_command_writes_a_folder_and_clears_what_it_left(
    tmp_path: Path, macs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scenario = tmp_path / "x.yaml"
    scenario.write_text(
        "cluster: {nodes: 2, node: dgx-h100, fabric: {technology: rocev2-400g}}\n"
        "job: {model: llama-3.1-8b, training: {sequence: 8192, global_batch: 64}}\n"
        f"site: {SITE.replace('leaf001: cumulus, leaf002: frr', 'leaf000: cumulus')}\n",
        encoding="utf-8",
    )
    macs.write_text("leaf000,00:11:22:33:44:55\n", encoding="utf-8")
    out = tmp_path / "out"
    command = ["deploy", "ztp", str(scenario), "--macs", str(macs), "--out", str(out)]
    assert main(command) == 0
    said = capsys.readouterr().out
    assert f"4 files written to {out}" in said
    assert "secrets to put in before serving: SNMP_COMMUNITY" in said
    assert (out / "http/leaf000/cumulus-ztp.sh").stat().st_mode & 0o111
    text = scenario.read_text(encoding="utf-8").replace("leaf000: cumulus", "leaf000: eos")
    scenario.write_text(text, encoding="utf-8")
    assert main([*command, "--json"]) == 0
    result = json.loads(capsys.readouterr().out)["result"]
    assert result["removed"] == ["http/leaf000/cumulus-ztp.sh", "http/leaf000/nvue.yaml"]
    assert not (out / "http/leaf000/nvue.yaml").exists()
