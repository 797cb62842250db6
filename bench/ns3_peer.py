"""Run flows in ns-3; for a Python that has the package ``ns3``, not for netloom's own.

Reads JSON from the standard input: ``num_endpoints``, ``cables`` (pairs of vertices, endpoints
first), ``rate_bps``, ``delay_ps``, ``payload_bytes`` and ``flows`` (triples of source, target and
size in bytes). Writes JSON to the standard output: ``packet_hops`` (packets, acknowledgements
included, times links), ``cpu_s`` and ``wall_s`` of ``Simulator::Run`` alone, and ``finished``.

Bulk TCP transfers over point-to-point links with global routing: ns-3 as it is shipped has neither
RoCEv2 nor PFC, and so does less for a packet than it would with them.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

# Nothing of netloom imports this file.
from ns import ns  # type: ignore[import-not-found]

COUNTER = """
#include "ns3/core-module.h"
#include "ns3/network-module.h"
namespace netloom_bench {
unsigned long packet_hops = 0;
unsigned long received_bytes = 0;
void Count(ns3::Ptr<const ns3::Packet>) { ++packet_hops; }
void Take(ns3::Ptr<const ns3::Packet> packet, const ns3::Address&) {
  received_bytes += packet->GetSize();
}
void Connect() {
  ns3::Config::ConnectWithoutContext(
      "/NodeList/*/DeviceList/*/$ns3::PointToPointNetDevice/PhyTxEnd", ns3::MakeCallback(&Count));
  ns3::Config::ConnectWithoutContext(
      "/NodeList/*/ApplicationList/*/$ns3::PacketSink/Rx", ns3::MakeCallback(&Take));
}
}
"""
PORT = 5000


def network(asked: dict[str, Any]) -> tuple[Any, dict[int, Any]]:
    """Build vertices and links; return the nodes, and the address of each endpoint."""
    nodes = ns.NodeContainer()
    nodes.Create(1 + max(max(pair) for pair in asked["cables"]))
    ns.InternetStackHelper().Install(nodes)
    link = ns.PointToPointHelper()
    link.SetDeviceAttribute("DataRate", ns.StringValue(f"{asked['rate_bps']:.0f}bps"))
    link.SetDeviceAttribute("Mtu", ns.UintegerValue(asked["payload_bytes"] + 100))
    link.SetChannelAttribute("Delay", ns.StringValue(f"{asked['delay_ps']}ps"))
    addresses = ns.Ipv4AddressHelper()
    addresses.SetBase(ns.Ipv4Address("10.0.0.0"), ns.Ipv4Mask("255.255.255.252"))
    found = {}
    for first, second in asked["cables"]:
        devices = link.Install(nodes.Get(first), nodes.Get(second))
        interfaces = addresses.Assign(devices)
        addresses.NewNetwork()
        for end, vertex in enumerate((first, second)):
            if vertex < asked["num_endpoints"]:
                found[vertex] = interfaces.GetAddress(end)
    ns.Ipv4GlobalRoutingHelper.PopulateRoutingTables()
    return nodes, found


def applications(asked: dict[str, Any], nodes: Any, addresses: dict[int, Any]) -> None:
    """Install a sender and a receiver for each flow."""
    ns.Config.SetDefault("ns3::TcpSocket::SegmentSize", ns.UintegerValue(asked["payload_bytes"]))
    ns.Config.SetDefault("ns3::TcpSocket::InitialCwnd", ns.UintegerValue(64))
    for name in ("SndBufSize", "RcvBufSize"):
        ns.Config.SetDefault(f"ns3::TcpSocket::{name}", ns.UintegerValue(1 << 24))
    any_address = ns.InetSocketAddress(ns.Ipv4Address.GetAny(), PORT).ConvertTo()
    sink = ns.PacketSinkHelper("ns3::TcpSocketFactory", any_address)
    for target in sorted({target for _, target, _ in asked["flows"]}):
        sink.Install(nodes.Get(target)).Start(ns.Seconds(0))
    for source, target, size_bytes in asked["flows"]:
        to = ns.InetSocketAddress(addresses[target], PORT).ConvertTo()
        sender = ns.BulkSendHelper("ns3::TcpSocketFactory", to)
        sender.SetAttribute("MaxBytes", ns.UintegerValue(size_bytes))
        sender.Install(nodes.Get(source)).Start(ns.Seconds(0))


def main() -> None:
    """Answer one question."""
    asked = json.load(sys.stdin)
    ns.cppyy.cppdef(COUNTER)
    nodes, addresses = network(asked)
    applications(asked, nodes, addresses)
    ns.cppyy.gbl.netloom_bench.Connect()
    ns.Simulator.Stop(ns.Seconds(asked["until_s"]))
    begin_s, begin_cpu_s = time.perf_counter(), time.process_time()
    ns.Simulator.Run()
    answer = {
        "packet_hops": int(ns.cppyy.gbl.netloom_bench.packet_hops),
        "received_bytes": int(ns.cppyy.gbl.netloom_bench.received_bytes),
        "cpu_s": time.process_time() - begin_cpu_s,
        "wall_s": time.perf_counter() - begin_s,
        "simulated_s": float(ns.Simulator.Now().GetSeconds()),
    }
    json.dump(answer, sys.stdout)


if __name__ == "__main__":
    main()
