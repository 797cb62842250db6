"""Devices that speak HTTP: a real socket with TLS serves what vendors' documentation prints.

Not recorded from a device: keys are those of EOS and NVUE, numbers are ours.
"""

from __future__ import annotations

import base64
import json
import ssl
import threading
import time
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest
from devices_under_test import certified, inventory, watched
from labs_under_test import write_scenario

from netloom.drivers.devices import eapi, nvue
from netloom.drivers.devices.web import fetch
from netloom.errors import LabError
from netloom.formats.nvue import state as nvue_paths
from netloom.ops.observe.devices import DeviceAccess, PortValue, Secret, SeenNeighbour

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

PORT = {
    "lineProtocolStatus": "up",
    "interfaceStatus": "connected",
    "bandwidth": 400_000_000_000,
    "mtu": 9214,
    "interfaceAddress": [{"primaryIp": {"address": "10.0.0.0", "maskLen": 31}}],
    "interfaceCounters": {
        "inOctets": 1000,
        "outOctets": 2000,
        "inUcastPkts": 10,
        "inMulticastPkts": 2,
        "inBroadcastPkts": 1,
        "totalInErrors": 4,
        "inDiscards": 5,
        "outDiscards": 6,
    },
}
SHOWS: dict[str, Any] = {
    "show version": {"modelName": "DCS-7060X6-64PE", "version": "4.31.2F", "uptime": 7.5},
    "show interfaces": {"interfaces": {"Ethernet1/1": PORT}},
    "show lldp neighbors": {
        "lldpNeighbors": [
            {"port": "Ethernet1/1", "neighborDevice": "spine1", "neighborPort": "Ethernet3/1"}
        ]
    },
    "show ip bgp summary vrf all": {
        "vrfs": {
            "default": {"peers": {"10.0.0.1": {"peerState": "Active"}}},
            "storage": {"peers": {"10.9.0.1": {"peerState": "Established"}}},
        }
    },
    "show interfaces transceiver dom": {
        "interfaces": {
            "Ethernet1/1": {
                "parameters": {
                    "rxPower": {"unit": "dBm", "channels": {"1": -1.5, "2": -2.5, "x": 1}},
                    "voltage": {"channels": {"-": 3.25}},
                }
            }
        }
    },
    "show interfaces transceiver": {
        "interfaces": {"Ethernet1/1": {"rxPower": -1.25, "txBias": 6.75, "temperature": 40.5}}
    },
}


# As NVIDIA's NVUE API guide prints an interface.
NVUE: dict[str, Any] = {
    "swp1": {
        "type": "swp",
        "link": {
            "mtu": 9216,
            "speed": "400G",
            "state": {"up": {}},
            "stats": {"carrier-transitions": 2, "in-bytes": 10, "in-errors": 3, "out-pkts": 192},
        },
    },
    "swp2": {"link": {"state": {"down": {}}, "speed": "1G"}},
    "lo": {"ip": {}},
}
NVUE["swp1"] |= {
    "ip": {"address": {"10.0.0.0/31": {}}},
    "lldp": {
        "neighbor": {
            "spine01": {
                "chassis": {"system-name": "spine01"},
                "port": {"name": "swp3", "type": "ifname"},
            }
        }
    },
    "counters": {
        "qos": {
            "pfc-stats": {"3": {"rx-pause-frames": 31, "tx-pause-frames": 41}},
            "egress-queue-stats": {"3": {"tx-frames": 70, "tx-uc-buffer-discards": 8}},
        }
    },
}
NVUE_SESSIONS = {"10.0.0.1": {"state": "established"}, "swp2": {"state": "active"}}
NVUE_OPTICS = {
    "swp1": {
        "temperature": {"temperature": "42.56 degrees C / 108.61 degrees F"},
        "voltage": {"voltage": "3.2862 V"},
        "channel": {
            "channel-1": {
                "rx-power": {"power": "0.8541 mW / -0.68 dBm"},
                "tx-bias-current": {"current": "6.75 mA"},
            }
        },
    }
}


class Device(BaseHTTPRequestHandler):
    """eAPI as its guide describes it: a command that is not known fails the whole request."""

    authorization = "Basic " + base64.b64encode(b"reader:s3cret").decode()

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.headers["Authorization"] != self.authorization:
            self.send_error(401)
            return
        commands = asked["params"]["cmds"]
        unknown = [one for one in commands if one not in SHOWS]
        answer: dict[str, Any] = {"result": [SHOWS.get(one) for one in commands]}
        if unknown:
            answer = {
                "error": {"code": 1002, "message": f"CLI command {unknown[0]!r} failed\x1b[2J"}
            }
        self.reply(json.dumps(answer).encode())

    def do_GET(self) -> None:
        if self.path == "/nvue_v1/interface?rev=operational":
            self.reply(json.dumps(NVUE).encode())
        elif self.path == nvue_paths.SESSIONS:
            self.reply(json.dumps(NVUE_SESSIONS).encode())
        elif self.path == nvue_paths.TRANSCEIVERS:
            if NVUE_OPTICS:
                self.reply(json.dumps(NVUE_OPTICS).encode())
            else:
                self.send_error(404)
        elif self.path == "/nvue_v1/system?rev=operational":
            self.reply(b'{"build": "Cumulus Linux 5.9.1", "platform": "SN5600", "uptime": 7}')
        elif self.path == "/moved":
            self.send_response(302)
            self.send_header("Location", "http://127.0.0.1:1/")
            self.end_headers()
        elif self.path == "/slow":
            self.send_response(200)
            self.end_headers()
            for _ in range(100):
                self.wfile.write(b"x")
                self.wfile.flush()
                time.sleep(0.05)

    def reply(self, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def served(folder: Path) -> Iterator[DeviceAccess]:
    certified(folder)
    key, certificate = folder / "key.pem", folder / "cert.pem"
    server = ThreadingHTTPServer(("127.0.0.1", 0), Device)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield DeviceAccess(
            name="leaf0",
            address=f"https://127.0.0.1:{server.server_port}",
            user="reader",
            secret=Secret("s3cret"),
            certificate=certificate,
        )
    finally:
        server.shutdown()
        server.server_close()


def test_what_eapi_says_becomes_observations(tmp_path: Path) -> None:
    with served(tmp_path) as access:
        report = eapi.look(access)
    assert not report.missing  # a platform without PFC counters is not a failing source
    found = set(report.values)
    assert found == {
        PortValue("Ethernet1/1", "link_up", 1),
        PortValue("Ethernet1/1", "admin_up", 1),
        PortValue("Ethernet1/1", "mtu_bytes", 9214),
        PortValue("Ethernet1/1", "rate_bps", 400e9),
        PortValue("Ethernet1/1", "received_bytes", 1000),
        PortValue("Ethernet1/1", "sent_bytes", 2000),
        PortValue("Ethernet1/1", "received_packets", 13),
        PortValue("Ethernet1/1", "receive_errors", 4),
        PortValue("Ethernet1/1", "receive_discards", 5),
        PortValue("Ethernet1/1", "send_discards", 6),
        PortValue("Ethernet1/1", "bgp_up", 0),
        PortValue("10.9.0.1", "bgp_up", 1),
        PortValue("Ethernet1/1", "optic_receive_power_dbm", -1.5, "lane:1"),
        PortValue("Ethernet1/1", "optic_receive_power_dbm", -2.5, "lane:2"),
        PortValue("Ethernet1/1", "optic_voltage_v", 3.25),
        PortValue("Ethernet1/1", "optic_receive_power_dbm", -1.25),
        PortValue("Ethernet1/1", "optic_bias_a", 6.75e-3),
        PortValue("Ethernet1/1", "optic_temperature_c", 40.5),
    }
    assert report.neighbours == [SeenNeighbour("Ethernet1/1", "spine1", "Ethernet3/1")]
    assert report.versions == {"model": "DCS-7060X6-64PE", "os": "4.31.2F"}


def test_a_switch_of_arista_is_watched_and_its_secret_never_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    scenario = write_scenario(tmp_path, "rocev2-400g", nodes=1)
    with served(tmp_path) as access:
        device = {"name": "leaf0", "kind": "eapi", "address": access.address, "part": "leaf:0"}
        fleet = inventory(
            tmp_path, [device], certificate="cert.pem",
            credentials={"user": "reader", "env": "EOS_PASSWORD"},
        )  # fmt: skip
        monkeypatch.setenv("EOS_PASSWORD", "s3cret")
        status, report, _log = watched(scenario, fleet, capsys)
        assert (status, report["failing"]) == (0, [])
        monkeypatch.setenv("EOS_PASSWORD", "wr0ng-one")
        status, report, log = watched(scenario, fleet, capsys)
    assert (status, report["failing"]) == (1, ["eapi leaf0"])
    assert "401" in log
    assert "wr0ng-one" not in log + json.dumps(report)


def test_what_nvue_says_becomes_observations(tmp_path: Path) -> None:
    with served(tmp_path) as access:
        report = nvue.look(access)
    assert set(report.values) == {
        PortValue("swp1", "link_up", 1),
        PortValue("swp1", "mtu_bytes", 9216),
        PortValue("swp1", "rate_bps", 400e9),
        PortValue("swp1", "received_bytes", 10),
        PortValue("swp1", "receive_errors", 3),
        PortValue("swp1", "sent_packets", 192),
        PortValue("swp2", "link_up", 0),
        PortValue("swp1", "pause_frames_received", 31, "priority:3"),
        PortValue("swp1", "pause_frames_sent", 41, "priority:3"),
        PortValue("swp1", "queue_packets", 70, "queue:3"),
        PortValue("swp1", "queue_drops", 8, "queue:3"),
        PortValue("swp1", "bgp_up", 1),
        PortValue("swp2", "bgp_up", 0),
        PortValue("swp1", "optic_temperature_c", 42.56),
        PortValue("swp1", "optic_voltage_v", 3.2862),
        PortValue("swp1", "optic_receive_power_dbm", -0.68, "lane:1"),
        PortValue("swp1", "optic_bias_a", 6.75e-3, "lane:1"),
    }
    assert report.neighbours == [SeenNeighbour("swp1", "spine01", "swp3")]


def test_a_switch_without_modules_says_less_and_does_not_fail(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(NVUE_OPTICS, "swp1")
    with served(tmp_path) as access:
        report = nvue.look(access)
    assert not report.missing
    assert not any("optic" in one.metric for one in report.values)
    assert report.versions == {"os": "Cumulus Linux 5.9.1", "model": "SN5600"}


def test_a_refusal_of_eapi_is_told_without_control_characters(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(SHOWS, "show interfaces")
    with served(tmp_path) as access, pytest.raises(LabError, match="EOS refuses") as caught:
        eapi.look(access)
    assert str(caught.value).isprintable()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda a: replace(a, certificate=None), "CERTIFICATE_VERIFY_FAILED"),
        (lambda a: replace(a, address="http://10.0.0.1/"), "plain HTTP"),
        (lambda a: replace(a, address="https://u:p@127.0.0.1/"), "without user and password"),
        (lambda a: replace(a, address="file:///etc/passwd"), "is no URL"),
        (lambda a: replace(a, address=f"{a.address}/moved"), "302"),
        (lambda a: replace(a, address=f"{a.address}/slow", deadline_s=0.5), "within 0.5 s"),
    ],
)
def test_what_must_not_be_is_refused(
    tmp_path: Path, change: Callable[[DeviceAccess], DeviceAccess], said: str
) -> None:
    with served(tmp_path) as access, pytest.raises(LabError, match=said) as caught:
        fetch(change(access))
    assert "s3cret" not in str(caught.value)
