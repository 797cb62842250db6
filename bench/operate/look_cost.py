"""Processor time and bytes of a look at 4,096 hosts: ``python -m bench.operate.look_cost``.

A server beside it answers as UFM does for every port of the design; its counters of packets grow
with every look. Not recorded from a device.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import tempfile
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

from netloom.app.watch import WatchSources, watch
from netloom.cli.operate.designed import designed_at
from netloom.formats.ufm.resources import ALARMS, PORTS, TELEMETRY

if TYPE_CHECKING:
    from netloom.ops.plant import Plant

SCENARIO = """
cluster:
  nodes: {nodes}
  node: dgx-h100
  fabric: {{technology: infiniband-ndr, topology: {{kind: fat-tree, tiers: 3}}}}
job: {{model: llama-3.1-8b, training: {{sequence: 8192, global_batch: 512}}}}
"""
ATTRIBUTES = parse_qs(urlsplit(TELEMETRY).query)["attributes"][0].strip("[]").split(",")


def ports_of(plant: Plant) -> list[dict[str, Any]]:
    """Return every port of a design as UFM's guide prints one."""
    found = []
    for cable in plant.cables:
        for here, there in (cable.ends, cable.ends[::-1]):
            device, other = plant.devices[here.device], plant.devices[there.device]
            kind = "Computer" if device.role == "host" else "Switch"
            found.append(
                {
                    "description": f"{kind} IB Port",
                    "name": f"{device.name}_{here.number}",
                    "number": here.number,
                    "system_name": device.name,
                    "node_description": device.name,
                    "physical_state": "Link Up",
                    "logical_state": "Active",
                    "active_speed": "NDR",
                    "active_width": "4x",
                    "peer": f"{other.name}_{there.number}",
                }
            )
    return found


class Fabric(ThreadingHTTPServer):
    """A UFM that knows some ports."""

    def __init__(self, ports: list[dict[str, Any]]) -> None:
        super().__init__(("127.0.0.1", 0), Answer)
        self.ports, self.look = ports, 0

    def body(self, path: str) -> Any:
        """Return what a path answers."""
        if path == PORTS:
            return self.ports
        if path == ALARMS:
            return []
        self.look += 1
        rows = {
            port["name"]: {
                "statistics": {
                    name: self.look * 1_000_003 + place if "Pkts" in name else 0
                    for name in ATTRIBUTES
                }
            }
            for place, port in enumerate(self.ports)
        }
        return {"data": {"2026-01-01 00:00:00": {"Ports": rows}}}


class Answer(BaseHTTPRequestHandler):
    """Answers in JSON."""

    server: Fabric

    def do_GET(self) -> None:
        """Answer a request."""
        data = json.dumps(self.server.body(urlsplit(self.path).path)).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def main() -> None:
    """Print the cost of each look."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=512, help="of eight NICs each")
    parser.add_argument("--looks", type=int, default=4)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "big.yaml").write_text(SCENARIO.format(nodes=asked.nodes), encoding="utf-8")
        designed = designed_at(folder / "big.yaml", None)
        server = Fabric(ports_of(designed.plant))
        beside = multiprocessing.get_context("fork").Process(target=server.serve_forever)
        beside.start()
        try:
            measure(designed, folder, server.server_port, asked.looks)
        finally:
            beside.terminate()


def measure(designed: Any, folder: Path, port: int, looks: int) -> None:
    """Watch for some looks, each as soon as the last is over."""
    device = {"name": "ufm", "kind": "ufm", "address": f"http://127.0.0.1:{port}"}
    fleet, store = folder / "fleet.json", folder / "watch.db"
    settings = {"defaults": {"deadline": "300s"}, "devices": [device]}
    fleet.write_text(json.dumps(settings), encoding="utf-8")
    last = [time.process_time(), 0]

    def log(event: str, **fields: Any) -> None:
        used = [time.process_time(), sum(one.stat().st_size for one in folder.glob("watch.db"))]
        if event == "round":
            print(
                f"{fields['observations']:,} numbers, {fields['rows']:,} written: "
                f"{used[0] - last[0]:.1f} s of processor time, the store is {used[1]:,} bytes"
            )
        last[:] = used

    sources = WatchSources(inventory=fleet)
    watch(designed, sources=sources, store=store, every_s=0.1, rounds=looks, log=log)


if __name__ == "__main__":
    main()
