"""What NCCL or RCCL says of its set-up: channels, hosts, adapters, and choices of its tuner."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from netloom.formats.log_lines import BadLines
    from netloom.formats.nccl.setup_lines import NcclAdapter, TunerChoice, TunerEstimate

__all__ = ["NcclChannels", "NcclHost", "NcclSetup", "way_of_network"]


@dataclass(frozen=True, slots=True, kw_only=True)
class NcclChannels:
    """Channels of a communicator; None where the version does not print them."""

    collective: int
    collnet: int | None
    nvls: int | None
    point_to_point: int
    per_peer: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NcclHost:
    """What one host says.

    Attributes:
        name: Its name; empty where lines have none.
        adapters: By index.
        num_direct: Connections over the network with GPUDirect RDMA.
        num_bounced: Connections over the network without.
        adapters_used: Indices of adapters that connections use.
    """

    name: str
    adapters: tuple[NcclAdapter, ...]
    num_direct: int
    num_bounced: int
    adapters_used: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class NcclSetup:
    """What a log says of the setup; empty, 0 or None where it does not say.

    Attributes:
        version: ``2.26.2+cuda12.8``.
        library: ``nccl`` or ``rccl``.
        network: ``IB``, ``Socket`` or a plugin's name.
        plugin: The plugin that was loaded, ``NCCL RDMA Plugin v8``.
        plugin_version: ``aws-ofi-nccl 1.16.3``.
        provider: Of libfabric: ``efa``, ``cxi``.
        num_provider_nics: That the provider found.
        hosts: By name.
        num_ranks: Of the largest communicator.
        num_nodes: Of it.
        local_ranks: Of it, on one node.
        channels: Of the last communicator.
        rings: Ranks in the order of each ring.
        num_trees: Trees.
        nvls_available: Whether multicast over NVLink is.
        nvls_connected: Whether trees of NVLS were connected.
        collnet: Whether CollNet (SHARP) was connected.
        pxn: Whether rings use PXN.
        ring_gpudirect: Whether rings use GPUDirect RDMA.
        mnnvl: Whether NVLink joins several nodes.
        choices: What collectives ran with.
        estimates: Latency and bandwidth that the tuner expects.
        variables: What the environment sets.
        warnings: The first of level WARN.
        num_warnings: All of them.
        num_lines: That NCCL logged.
        bad: Lines that are cut.
    """

    version: str
    library: str
    network: str
    plugin: str
    plugin_version: str
    provider: str
    num_provider_nics: int
    hosts: tuple[NcclHost, ...]
    num_ranks: int
    num_nodes: int
    local_ranks: int
    channels: NcclChannels | None
    rings: tuple[tuple[int, ...], ...]
    num_trees: int
    nvls_available: bool | None
    nvls_connected: bool
    collnet: bool
    pxn: bool | None
    ring_gpudirect: bool | None
    mnnvl: bool | None
    choices: tuple[TunerChoice, ...]
    estimates: tuple[TunerEstimate, ...]
    variables: dict[str, str]
    warnings: tuple[str, ...]
    num_warnings: int
    num_lines: int
    bad: BadLines

    @property
    def way(self) -> str:
        """How bytes get to the wire: ``ib``, ``sockets``, ``ofi``, ``tcpx`` or ``tcpxo``."""
        return way_of_network(self.network)

    @property
    def gpudirect(self) -> bool | None:
        """Whether GPUDirect RDMA is used, by connections first; None where it is not said."""
        direct = sum(host.num_direct for host in self.hosts)
        bounced = sum(host.num_bounced for host in self.hosts)
        if direct or bounced:
            return direct > bounced
        said = [one.gpudirect for host in self.hosts for one in host.adapters]
        known = [one for one in said if one is not None]
        return sum(known) * 2 > len(known) if known else self.ring_gpudirect


def way_of_network(network: str) -> str:
    """Return the scenario's word for a network that NCCL names; empty for one it does not know."""
    name = network.lower()
    for word, way in (
        ("fastsocket", "sockets"),
        ("tcpxo", "tcpxo"),
        ("fastrak", "tcpxo"),
        ("tcpx", "tcpx"),
        ("libfabric", "ofi"),
        ("ofi", "ofi"),
        ("socket", "sockets"),
        ("rdma plugin", "ib"),
        ("ib", "ib"),
        ("ucx", "ib"),
    ):
        if word in name:
            return way
    return ""
