"""Run flows in SimGrid; for Debian's own python3, which has ``python3-simgrid``.

Reads JSON from the standard input: ``capacity_bps`` of each link, and ``flows``, each with
``source`` and ``target`` (host numbers), ``links`` (numbers of links), ``size_bytes`` and
``start_s``. Writes JSON to the standard output: ``finish_s`` of each flow, and ``wall_s`` and
``cpu_s``, the time of the simulation alone (building the platform is not counted).

Model CM02 with every factor 1, no TCP window and no cross traffic: max-min fair sharing.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

# Found by Debian's python3 alone; nothing of netloom imports this file.
from simgrid import (  # type: ignore[import-not-found]
    Actor,
    Comm,
    Engine,
    LinkInRoute,
    NetZone,
    this_actor,
)

CONFIGURATION = (
    "network/model:CM02",
    "network/TCP-gamma:0",
    "network/bandwidth-factor:1",
    "network/latency-factor:1",
    "network/weight-S:0",
    "network/crosstraffic:0",
    "network/loopback-lat:0",
)


def platform(asked: dict[str, Any]) -> Any:
    """Build hosts, links and one explicit route for each pair that talks."""
    zone = NetZone.create_full_zone("netloom")
    links = [
        zone.create_link(f"link{i}", rate_bps / 8).set_latency(0).seal()
        for i, rate_bps in enumerate(asked["capacity_bps"])
    ]
    numbers = sorted({end for flow in asked["flows"] for end in (flow["source"], flow["target"])})
    hosts = {number: zone.create_host(f"host{number}", 1e9).seal() for number in numbers}
    routed = set()
    for flow in asked["flows"]:
        pair = flow["source"], flow["target"]
        if pair not in routed:
            routed.add(pair)
            way = [LinkInRoute(links[link]) for link in flow["links"]]
            source, target = (hosts[end].netpoint for end in pair)
            zone.add_route(source, target, None, None, way, False)  # noqa: FBT003  (its only form)
    zone.seal()
    return hosts


def main() -> None:
    """Run what the standard input asks for."""
    asked = json.load(sys.stdin)
    options = [f"--cfg={item}" for item in CONFIGURATION]
    engine = Engine([sys.argv[0], *options, "--log=root.thres:error"])
    hosts = platform(asked)
    order = sorted(range(len(asked["flows"])), key=lambda i: asked["flows"][i]["start_s"])
    finish_s = [0.0] * len(order)

    def run() -> None:
        pending = {}
        for i in order:
            flow = asked["flows"][i]
            if flow["start_s"] > Engine.clock:
                this_actor.sleep_until(flow["start_s"])
            source, target = hosts[flow["source"]], hosts[flow["target"]]
            pending[i] = Comm.sendto_async(source, target, flow["size_bytes"])
        for i, comm in pending.items():
            comm.wait()
            finish_s[i] = comm.finish_time

    Actor.create("sender", next(iter(hosts.values())), run)
    began, began_cpu = time.perf_counter(), time.process_time()
    engine.run()
    wall_s, cpu_s = time.perf_counter() - began, time.process_time() - began_cpu
    json.dump({"finish_s": finish_s, "wall_s": wall_s, "cpu_s": cpu_s}, sys.stdout)


main()
