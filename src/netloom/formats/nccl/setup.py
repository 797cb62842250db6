"""How NCCL or RCCL set itself up, from its log (``NCCL_DEBUG=INFO``).

Algorithms and protocols are in the log with ``NCCL_DEBUG_SUBSYS=INIT,ENV,GRAPH,TUNING,NET``, the
other facts without. Messages are those of NCCL 2.4 to 2.30 (``src/init.cc``, ``src/enqueue.cc``,
``src/graph/tuning.cc``, ``src/transport/net*.cc``), of aws-ofi-nccl, and of Google's plugins
GPUDirectTCPX, FasTrak (TCPXO) and FastSocket.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, TypeAlias

from netloom.formats.log_lines import BadLineTally, raw_lines, without_colour
from netloom.formats.nccl import setup_lines
from netloom.formats.nccl.setup_facts import (
    NcclChannels,
    NcclHost,
    NcclSetup,
    way_of_network,
)
from netloom.formats.nccl.setup_lines import NcclAdapter, TunerChoice, TunerEstimate

if TYPE_CHECKING:
    from collections.abc import Callable

    from netloom.formats.log_lines import LogSource

__all__ = ["parse_setup"]

MAX_HOSTS: Final = 20_000
MAX_ADAPTERS: Final = 64  # of a host
MAX_CHOICES: Final = 20_000
MAX_VARIABLES: Final = 300
MAX_WARNINGS: Final = 100
MAX_RINGS: Final = 128


@dataclass(slots=True)
class _HostFacts:
    """What a host has said so far."""

    adapters: dict[int, NcclAdapter] = field(default_factory=dict)
    interfaces: dict[int, NcclAdapter] = field(default_factory=dict)
    num_direct: int = 0
    num_bounced: int = 0
    used: set[int] = field(default_factory=set)

    def of_transport(self, text: str) -> dict[int, NcclAdapter]:
        """Return the adapters of the transport that a message is of: sockets have their own."""
        return self.interfaces if "Socket" in text[:20] else self.adapters


@dataclass(slots=True)
class SetupBuilder:
    """The setup that is being read."""

    facts: dict[str, str] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    flags: dict[str, bool] = field(default_factory=dict)
    hosts: dict[str, _HostFacts] = field(default_factory=dict)
    channels: NcclChannels | None = None
    rings: dict[int, tuple[int, ...]] = field(default_factory=dict)
    choices: dict[TunerChoice, None] = field(default_factory=dict)
    chosen: set[str] = field(default_factory=set)
    estimates: dict[TunerEstimate, None] = field(default_factory=dict)
    columns: tuple[tuple[str, str], ...] = ()
    variables: dict[str, str] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    bad: BadLineTally = field(default_factory=BadLineTally)

    def host(self, name: str) -> _HostFacts:
        """Return what the host has said so far."""
        found = self.hosts.get(name)
        if found is None:
            found = _HostFacts()
            if len(self.hosts) < MAX_HOSTS:
                self.hosts[name] = found
        return found

    def _host(self, name: str) -> NcclHost:
        facts = self.hosts[name]
        sockets = way_of_network(self.facts.get("network", "")) == "sockets"
        adapters = facts.interfaces if sockets or not facts.adapters else facts.adapters
        return NcclHost(
            name=name,
            adapters=tuple(adapters[key] for key in sorted(adapters)),
            num_direct=facts.num_direct,
            num_bounced=facts.num_bounced,
            adapters_used=tuple(sorted(facts.used)),
        )

    def build(self, num_lines: int) -> NcclSetup:
        """Return the setup."""
        facts, counts, flags = self.facts, self.counts, self.flags
        return NcclSetup(
            version=facts.get("version", ""),
            library=facts.get("library", "nccl" if num_lines else ""),
            network=facts.get("network", ""),
            plugin=facts.get("plugin", ""),
            plugin_version=facts.get("plugin_version", ""),
            provider=facts.get("provider", ""),
            num_provider_nics=counts.get("provider_nics", 0),
            hosts=tuple(self._host(name) for name in sorted(self.hosts)),
            num_ranks=counts.get("ranks", 0),
            num_nodes=counts.get("nodes", 0),
            local_ranks=counts.get("local_ranks", 0),
            channels=self.channels,
            rings=tuple(self.rings[key] for key in sorted(self.rings)),
            num_trees=counts.get("trees", 0),
            nvls_available=flags.get("nvls_available"),
            nvls_connected=flags.get("nvls_connected", False),
            collnet=flags.get("collnet", False),
            pxn=flags.get("pxn"),
            ring_gpudirect=flags.get("ring_gpudirect"),
            mnnvl=flags.get("mnnvl"),
            choices=tuple(self.choices),
            estimates=tuple(self.estimates),
            variables=dict(self.variables),
            warnings=tuple(self.warnings),
            num_warnings=counts.get("warnings", 0),
            num_lines=num_lines,
            bad=self.bad.freeze(),
        )


def parse_setup(source: LogSource) -> NcclSetup:
    """Return the setup that *source* tells of; lines of others are passed over."""
    builder = SetupBuilder()
    num_lines = 0
    for count, raw in enumerate(raw_lines(source), start=1):
        line = without_colour(raw) if "\x1b" in raw else raw
        at = line.find("NCCL INFO ")
        if at >= 0:
            num_lines += 1
            text = line[at + 10 :].lstrip()
            handler = _handler_of(text)
            if handler is not None:
                handler(builder, line[:at], text, count)
        elif "CCL " in line:
            num_lines += _take_other(builder, line, count)
    return builder.build(num_lines)


def _take_other(builder: SetupBuilder, line: str, count: int) -> int:
    """Take a warning, or the version that stands alone; return whether it is NCCL's."""
    at = line.find("NCCL WARN ")
    if at >= 0:
        builder.counts["warnings"] = builder.counts.get("warnings", 0) + 1
        if len(builder.warnings) < MAX_WARNINGS:
            builder.warnings.append(line[at + 10 : at + 310].strip())
        return 1
    if "CCL version" in line:
        _take_version(builder, "", line[line.find("CCL version") - 1 :], count)
        return 1
    return 0


def _take_version(builder: SetupBuilder, _head: str, text: str, _line: int) -> None:
    found = setup_lines.VERSION.match(text)
    if found:
        builder.facts["version"] = found["version"]
        builder.facts["library"] = "rccl" if text.startswith("R") else "nccl"


def _take_own(builder: SetupBuilder, head: str, text: str, line: int) -> None:
    """Take the version, or a variable of the environment."""
    take = _take_variable if text[4:5] == "_" else _take_version
    take(builder, head, text, line)


def _take_network(builder: SetupBuilder, _head: str, text: str, _line: int) -> None:
    if text.startswith("Using network "):
        builder.facts["network"] = text.removeprefix("Using network ").strip()[:40]


def _take_net(builder: SetupBuilder, head: str, text: str, line: int) -> None:
    """Take what a transport of the network says."""
    if " Using [" in text:
        _take_adapters(builder, head, text)
    elif "GPU Direct RDMA" in text:
        _take_gpudirect(builder, head, text, line)
    elif "Made virtual device" in text:
        found = setup_lines.VIRTUAL.search(text)
        if found:
            adapters = builder.host(setup_lines.host_of(head)).adapters
            _put_adapter(adapters, int(found["index"]), found["name"], rate=found["speed"])
    elif text.startswith("NET/Plugin"):
        _take_plugin(builder, text)
    elif text.startswith("NET/OFI"):
        _take_ofi(builder, text)


def _take_adapters(builder: SetupBuilder, head: str, text: str) -> None:
    adapters = builder.host(setup_lines.host_of(head)).of_transport(text)
    for found in setup_lines.USING.finditer(text):
        _put_adapter(adapters, int(found["index"]), found["name"], link=found["link"] or "")


def _put_adapter(
    adapters: dict[int, NcclAdapter], index: int, name: str, *, link: str = "", rate: str = ""
) -> None:
    before = adapters.get(index)
    if before is None and len(adapters) >= MAX_ADAPTERS:
        return
    adapters[index] = NcclAdapter(
        index=index,
        name=name,
        link=link or (before.link if before else ""),
        gpudirect=before.gpudirect if before and before.name == name else None,
        rate_bps=float(rate) * 1e6 if rate else (before.rate_bps if before else None),
    )


def _take_gpudirect(builder: SetupBuilder, head: str, text: str, line: int) -> None:
    found = setup_lines.GPUDIRECT.search(text)
    if found is None:
        builder.bad.add(line, "GPU Direct RDMA of no adapter", text)
        return
    adapters = builder.host(setup_lines.host_of(head)).of_transport(text)
    index = int(found["index"]) if found["index"] else len(adapters)
    before = adapters.get(index)
    enabled = found["state"].lower() == "enabled"
    if before is not None or len(adapters) < MAX_ADAPTERS:
        adapters[index] = NcclAdapter(
            index=index,
            name=found["name"] or (before.name if before else ""),
            link=before.link if before else "",
            gpudirect=enabled,
            rate_bps=before.rate_bps if before else None,
        )


def _take_speed(builder: SetupBuilder, head: str, text: str, _line: int) -> None:
    """Take the speed of an adapter in the graph of the machine, in GB/s."""
    found = setup_lines.SPEED.match(text)
    host = builder.hosts.get(setup_lines.host_of(head))
    adapter = host.adapters.get(int(found["index"])) if found and host else None
    if found and host and adapter:
        host.adapters[adapter.index] = replace(adapter, rate_bps=float(found["speed"]) * 8e9)


def _take_plugin(builder: SetupBuilder, text: str) -> None:
    found = setup_lines.PLUGIN.search(text)
    if found:
        builder.facts["plugin"] = found["name"]


def _take_ofi(builder: SetupBuilder, text: str) -> None:
    provider = setup_lines.PROVIDER.search(text)
    if provider:
        builder.facts["provider"] = provider["name"]
        if provider["num"]:
            builder.counts["provider_nics"] = int(provider["num"])
    elif "Initializing aws-ofi-nccl" in text:
        version = text.partition("Initializing ")[2]
        builder.facts["plugin_version"] = version.strip()[:60]


def _take_initializing(builder: SetupBuilder, _head: str, text: str, _line: int) -> None:
    found = setup_lines.INITIALIZING.match(text)
    if found:
        builder.facts["plugin_version"] = f"{found['name']} {found['version']}"


def _take_channel(builder: SetupBuilder, head: str, text: str, line: int) -> None:
    """Take a connection, or the order of a ring."""
    if " via " in text:
        if "NET/" in text:
            _take_connection(builder, head, text, line)
        return
    ring = setup_lines.RING.match(text)
    if ring and len(builder.rings) < MAX_RINGS:
        builder.rings[int(ring["channel"])] = tuple(int(one) for one in ring["ranks"].split())


def _take_connection(builder: SetupBuilder, head: str, text: str, line: int) -> None:
    found = setup_lines.CONNECTION.search(text)
    if found is None:
        builder.bad.add(line, "a connection over the network that is cut", text)
        return
    host = builder.host(setup_lines.host_of(head))
    host.used.add(int(found["index"]))
    if "GDRDMA" in found["rest"]:
        host.num_direct += 1
    else:
        host.num_bounced += 1


def _take_trees(builder: SetupBuilder, _head: str, text: str, _line: int) -> None:
    if text.startswith("Trees "):
        builder.counts["trees"] = max(builder.counts.get("trees", 0), text.count("["))


def _take_connected(builder: SetupBuilder, _head: str, text: str, _line: int) -> None:
    if "NVLS tree" in text:
        builder.flags["nvls_connected"] = True
    elif "ollNet" in text or "collnet" in text:
        builder.flags["collnet"] = True
    elif found := setup_lines.RINGS_USE.search(text):
        builder.flags["pxn"] = found["pxn"] != "0"
        builder.flags["ring_gpudirect"] = found["gdr"] != "0"


def _take_nvls(builder: SetupBuilder, _head: str, text: str, _line: int) -> None:
    if "multicast support" in text:
        builder.flags["nvls_available"] = "is available" in text


def _take_communicator(builder: SetupBuilder, _head: str, text: str, _line: int) -> None:
    found = setup_lines.COMMUNICATOR.search(text)
    if found is None:
        return
    num_ranks = int(found["ranks"])
    if num_ranks >= builder.counts.get("ranks", 0):
        builder.counts["ranks"] = num_ranks
        if found["nodes"]:
            builder.counts["nodes"] = int(found["nodes"])
            builder.counts["local_ranks"] = int(found["local"])
    if found["mnnvl"]:
        builder.flags["mnnvl"] = found["mnnvl"] != "0"


def _take_variable(builder: SetupBuilder, _head: str, text: str, _line: int) -> None:
    found = setup_lines.VARIABLE.match(text)
    if found and (found["name"] in builder.variables or len(builder.variables) < MAX_VARIABLES):
        builder.variables[found["name"]] = found["value"].strip().removesuffix(".")


def _take_choice(builder: SetupBuilder, _head: str, text: str, line: int) -> None:
    """Take what a collective runs with, or a row of the tuner's table."""
    if "|" in text:
        for one in setup_lines.estimates_of(text, builder.columns):
            if len(builder.estimates) < MAX_CHOICES:
                builder.estimates[one] = None
    elif "Bytes -> Algo" in text and text not in builder.chosen:
        choice = setup_lines.choice_of(text)
        if choice is None:
            builder.bad.add(line, "a choice of the tuner that is cut", text)
        elif len(builder.choices) < MAX_CHOICES:
            builder.choices[choice] = None
            builder.chosen.add(text)


def _take_columns(builder: SetupBuilder, _head: str, text: str, _line: int) -> None:
    builder.columns = setup_lines.columns_of(text, builder.columns)


def _take_channels(builder: SetupBuilder, _head: str, text: str, line: int) -> None:
    """Take a line that begins with a number: channels, or a choice of versions before 2.20."""
    if "Bytes -> Algo" in text:
        _take_choice(builder, "", text, line)
        return
    found = setup_lines.CHANNELS.match(text)
    if found:
        builder.channels = NcclChannels(
            collective=int(found["coll"]),
            collnet=None if found["collnet"] is None else int(found["collnet"]),
            nvls=None if found["nvls"] is None else int(found["nvls"]),
            point_to_point=int(found["p2p"]),
            per_peer=int(found["peer"] or 0),
        )


_Handler: TypeAlias = "Callable[[SetupBuilder, str, str, int], None]"
_BY_WORD: Final[dict[str, _Handler]] = {
    "NCCL": _take_own,
    "RCCL": _take_own,
    "Using network": _take_network,
    "NET/": _take_net,
    "Initializing": _take_initializing,
    "Channel": _take_channel,
    "Ring ": _take_channel,
    "Trees": _take_trees,
    "Connected": _take_connected,
    "NVLS multicast": _take_nvls,
    "comm 0x": _take_communicator,
    "ncclCommInit": _take_communicator,
    "+ NET[": _take_speed,
    "Algorithm": _take_columns,
    "Protocol": _take_columns,
    "Latency/AlgBw": _take_columns,
    **dict.fromkeys(setup_lines.COLLECTIVES, _take_choice),
}


def _handler_of(text: str) -> _Handler | None:
    """Return who takes a message: most are passed over, and their first letters tell."""
    if text[:1].isdigit():
        return _take_channels
    return _BY_START.get(text[:4])


_BY_START: Final = {word[:4]: handler for word, handler in _BY_WORD.items()}
