"""The causes that netloom knows, each with the curve it would give and what a log says of it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from netloom.engines.analytic import Algorithm
from netloom.engines.analytic.path import nic_share
from netloom.study.expect.curve import algorithm_called, outcome_of
from netloom.study.expect.signature import CauseVariant, LogEvidence, Signature
from netloom.workload.collective import CollectiveKind

if TYPE_CHECKING:
    from netloom.fabric.network import Network
    from netloom.parts.load import Catalog
    from netloom.study.expect.curve import TestRun
    from netloom.study.expect.facts import SetupFacts

__all__ = ["SIGNATURES"]

# Sockets run over whatever interface the host has, as fast as its port or the cores that copy: from
# 10 Gb/s in steps of the square root of 2 to what the catalogue has for TCP through one NIC.
_SOCKET_GBPS: Final = (10, 14, 20, 28, 40, 56)
_TCP_RATES: Final = (100, 200, 400)
# Without GPUDirect what is sent and what is received crosses the PCIe uplink of the GPU twice,
# once as the copy of the GPU and once as the NIC's: half the rate where an uplink is as wide as
# the NIC's own link, a quarter where two GPUs and two NICs share one. Posted: 6 of 12 GB/s
# (NVIDIA/nccl issue 465), "the performance doubled" (NVIDIA/nccl-tests issue 29).
_BOUNCED: Final = (0.5, 0.25)
# Title and figures of NVIDIA's post "Doubling all2all performance with NCCL 2.12" (2022).
_NO_PXN: Final = 0.5
_SLOWER_PCIE: Final = (0.5, 0.25)  # a generation less, or half as many lanes; both
_STARTUPS: Final = (2.0, 4.0, 8.0, 16.0)
_LARGE: Final = 2.0**30
_FEW_NICS: Final = 3  # of which one that is missing is told from half of them
_RDMA_OFF: Final = "tcp"


def _on(run: TestRun, **changes: Any) -> TestRun:
    """Return *run* on a network with some of its parts replaced."""
    return replace(run, network=replace(run.network, **changes))


def _with_node(run: TestRun, **changes: Any) -> TestRun:
    return _on(run, node=run.network.node.model_copy(update=changes))


def _is_alone(run: TestRun) -> bool:
    return run.group.num_nodes == 1


def _sockets(run: TestRun, catalog: Catalog) -> tuple[CauseVariant, ...]:
    network = run.network
    if _is_alone(run) or network.technology.transport == _RDMA_OFF:
        return ()
    every = f"all {network.node.num_nics} NICs"
    gbps = network.nic_rate_bps / 1e9
    one = [
        CauseVariant(name=f"{rate} Gb/s a node", run=_over_tcp(run, catalog, rate))
        for rate in _SOCKET_GBPS
    ]
    own = CauseVariant(name="one NIC", run=_over_tcp(run, catalog, gbps))
    all_nics = _over_tcp(run, catalog, gbps, num_nics=network.node.num_nics)
    return (*one, own, CauseVariant(name=every, run=all_nics))


def _over_tcp(run: TestRun, catalog: Catalog, gbps: float, *, num_nics: int = 1) -> TestRun:
    near = next((rate for rate in _TCP_RATES if rate >= gbps), _TCP_RATES[-1])
    technology = catalog.technology(f"tcp-{near}g")
    technology = technology.model_copy(update={"rate_bps": min(gbps, near) * 1e9})
    node = run.network.node.model_copy(update={"num_nics": num_nics, "nic_share": None})
    return _on(run, technology=technology, nic=catalog.nic(technology.nic), node=node)


def _no_gpudirect(run: TestRun, _catalog: Catalog) -> tuple[CauseVariant, ...]:
    if _is_alone(run) or run.network.technology.transport == _RDMA_OFF:
        return ()
    return tuple(
        CauseVariant(name=f"{share:g} of each NIC's rate", run=_with_share(run, share))
        for share in _BOUNCED
    )


def _with_share(run: TestRun, share: float) -> TestRun:
    reached = nic_share(run.network).value
    assert isinstance(reached, float), reached
    return _with_node(run, nic_share=reached * share)


def _fewer_nics(run: TestRun, _catalog: Catalog) -> tuple[CauseVariant, ...]:
    total = run.network.node.num_nics
    halves = [total >> shift for shift in range(1, total.bit_length())]
    counts = [count for count in dict.fromkeys(halves) if count >= 1]
    return () if _is_alone(run) else tuple(_with_nics(run, count) for count in counts)


def _rail_down(run: TestRun, _catalog: Catalog) -> tuple[CauseVariant, ...]:
    total = run.network.node.num_nics
    return () if _is_alone(run) or total < _FEW_NICS else (_with_nics(run, total - 1),)


def _with_nics(run: TestRun, count: int) -> CauseVariant:
    name = f"{count} of {run.network.node.num_nics} NICs"
    return CauseVariant(name=name, run=_with_node(run, num_nics=count))


def _no_pxn(run: TestRun, _catalog: Catalog) -> tuple[CauseVariant, ...]:
    is_all = run.kind is CollectiveKind.ALL_TO_ALL
    if not is_all or _is_alone(run) or run.group.per_node == 1:
        return ()
    return (CauseVariant(name="half the rate between nodes", run=_with_share(run, _NO_PXN)),)


def _slower_pcie(run: TestRun, _catalog: Catalog) -> tuple[CauseVariant, ...]:
    network = run.network
    if _is_alone(run) and network.scale_up.kind != "pcie-tree":
        return ()
    return tuple(
        CauseVariant(name=f"{share:g} of the PCIe rate", run=_with_pcie(run, share))
        for share in _SLOWER_PCIE
    )


def _with_pcie(run: TestRun, share: float) -> TestRun:
    node, scale_up = run.network.node, run.network.scale_up
    slower = _with_node(run, host_rate_bps=node.host_rate_bps * share)
    if scale_up.kind != "pcie-tree":
        return slower
    return _on(slower, scale_up=scale_up.model_copy(update={"rate_bps": scale_up.rate_bps * share}))


def _without_nvls(run: TestRun) -> TestRun:
    off = run.network.scale_up.model_copy(update={"in_network_reduction": False})
    return _on(run, scale_up=off)


def _uses_nvls(run: TestRun) -> bool:
    return outcome_of(run, _LARGE).algorithm.startswith("nvls")


def _no_nvls(run: TestRun, _catalog: Catalog) -> tuple[CauseVariant, ...]:
    if not _uses_nvls(run):
        return ()
    return (CauseVariant(name="", run=_without_nvls(run)),)


def _tree(run: TestRun, _catalog: Catalog) -> tuple[CauseVariant, ...]:
    """A tree at all sizes; what NCCL runs without NVLS is another cause."""
    if run.kind is not CollectiveKind.ALL_REDUCE:
        return ()
    if outcome_of(run, _LARGE).algorithm == Algorithm.TREE.value:
        return ()
    return (CauseVariant(name="NCCL_ALGO=Tree", run=run, algorithm=Algorithm.TREE),)


def _no_nvlink(run: TestRun, catalog: Catalog) -> tuple[CauseVariant, ...]:
    network = run.network
    tree = _pcie_tree(network, catalog)
    if network.scale_up.kind == "pcie-tree" or run.group.per_node == 1 or not tree:
        return ()
    without = _on(run, scale_up=catalog.scale_ups[tree])
    return (CauseVariant(name=f"over {tree} inside the node", run=without),)


def _pcie_tree(network: Network, catalog: Catalog) -> str:
    """Return the PCIe tree whose links are as fast as those between the node's GPUs and NICs."""
    trees = [one for one in catalog.scale_ups.values() if one.kind == "pcie-tree"]
    wanted = network.node.host_rate_bps
    near = sorted(trees, key=lambda one: abs(one.rate_bps - wanted))
    return near[0].name if near else ""


def _startup(run: TestRun, _catalog: Catalog) -> tuple[CauseVariant, ...]:
    return tuple(
        CauseVariant(name=f"start-up {times:g} times as long", run=run, startup=times)
        for times in _STARTUPS
    )


def _says_sockets(facts: SetupFacts, run: TestRun) -> LogEvidence | None:
    if not facts.way or _is_alone(run):
        return None
    return LogEvidence(facts.way == "sockets", f"the log says 'Using network {facts.network}'")


def _says_gpudirect(facts: SetupFacts, run: TestRun) -> LogEvidence | None:
    if facts.gpudirect is None or facts.way == "sockets" or _is_alone(run):
        return None
    said = "with" if facts.gpudirect else "without"
    return LogEvidence(not facts.gpudirect, f"the log has connections {said} GPUDirect RDMA")


def _says_nics(facts: SetupFacts, run: TestRun) -> LogEvidence | None:
    total = run.network.node.num_nics
    return _nics_found(facts, run, is_it=facts.num_nics < total - 1 or facts.num_nics == 1)


def _says_rail(facts: SetupFacts, run: TestRun) -> LogEvidence | None:
    total = run.network.node.num_nics
    return _nics_found(facts, run, is_it=facts.num_nics == total - 1 > 1)


def _nics_found(facts: SetupFacts, run: TestRun, *, is_it: bool) -> LogEvidence | None:
    """Return what the number of devices says; which of those found are used, a log may not show."""
    total = run.network.node.num_nics
    if _is_alone(run) or facts.way == "sockets":
        return None
    if 0 < facts.num_nics < total:
        return LogEvidence(is_it, f"the log lists {facts.num_nics} network devices of {total}")
    if facts.num_used >= total:
        return LogEvidence(holds=False, says=f"the log has connections over {total} devices")
    return None


def _says_pxn(facts: SetupFacts, _run: TestRun) -> LogEvidence | None:
    if facts.is_set("NCCL_PXN_DISABLE", "1"):
        return LogEvidence(holds=True, says="the log says NCCL_PXN_DISABLE is set to 1")
    return LogEvidence(holds=False, says="the log says that PXN is used") if facts.pxn else None


def _says_nvls(facts: SetupFacts, _run: TestRun) -> LogEvidence | None:
    if facts.is_set("NCCL_NVLS_ENABLE", "0"):
        return LogEvidence(holds=True, says="the log says NCCL_NVLS_ENABLE is set to 0")
    if facts.nvls is None:
        return None
    return LogEvidence(
        not facts.nvls,
        f"the log says that NVLS is {'' if facts.nvls else 'not '}there",
    )


def _says_tree(facts: SetupFacts, _run: TestRun) -> LogEvidence | None:
    told = facts.variables.get("NCCL_ALGO", "").strip()
    if algorithm_called(told) is Algorithm.TREE:
        return LogEvidence(holds=True, says=f"the log says NCCL_ALGO is set to {told}")
    if not facts.algorithms:
        return None
    ran = ", ".join(sorted(facts.algorithms))
    return LogEvidence(facts.algorithms == {"tree"}, f"the log says that collectives ran {ran}")


def _says_nvlink(facts: SetupFacts, _run: TestRun) -> LogEvidence | None:
    if facts.is_set("NCCL_P2P_DISABLE", "1"):
        return LogEvidence(holds=True, says="the log says NCCL_P2P_DISABLE is set to 1")
    return None


def _says_nothing(_facts: SetupFacts, _run: TestRun) -> LogEvidence | None:
    return None


SIGNATURES: Final = (
    Signature(
        name="sockets",
        title="plain sockets in place of RDMA",
        remedy="look for 'Using network' with NCCL_DEBUG=INFO: NCCL_IB_DISABLE must not be 1, "
        "NCCL_IB_HCA must name the devices (ibv_devinfo lists them), the container needs "
        "/dev/infiniband and the memlock limit, a cloud its own plugin (libnccl-net.so)",
        variants=_sockets,
        evidence=_says_sockets,
        doubt=0.25,
    ),
    Signature(
        name="gpudirect-off",
        title="GPUDirect RDMA is off",
        remedy="load nvidia-peermem (or use DMA-BUF), turn ACS and the IOMMU off, see "
        "NCCL_NET_GDR_LEVEL; NCCL_DEBUG=INFO then writes GDRDMA behind each connection",
        variants=_no_gpudirect,
        evidence=_says_gpudirect,
        doubt=0.15,
    ),
    Signature(
        name="fewer-nics",
        title="fewer NICs in use than the node has",
        remedy="see NCCL_IB_HCA and which ports are up (ibstat, rdma link); the container must "
        "have every device",
        variants=_fewer_nics,
        evidence=_says_nics,
    ),
    Signature(
        name="rail-down",
        title="one rail is down",
        remedy="find the port that is down on one of the hosts or leaves (ibstat, rdma link, "
        "netloom locate)",
        variants=_rail_down,
        evidence=_says_rail,
    ),
    Signature(
        name="pxn-off",
        title="PXN is off",
        remedy="NCCL_PXN_DISABLE must not be 1, and NCCL must be 2.12 or later",
        variants=_no_pxn,
        evidence=_says_pxn,
        doubt=0.2,
    ),
    Signature(
        name="nvls-off",
        title="NVLink SHARP is off",
        remedy="NCCL_NVLS_ENABLE must not be 0, the fabric manager must run, and a virtual machine "
        "or container must be given multicast (NCCL_DEBUG=INFO: 'NVLS multicast support')",
        variants=_no_nvls,
        evidence=_says_nvls,
    ),
    Signature(
        name="tree",
        title="a tree in place of what NCCL should run",
        remedy="NCCL_ALGO must not force Tree; see the tuner plugin (NCCL_TUNER_PLUGIN)",
        variants=_tree,
        evidence=_says_tree,
    ),
    Signature(
        name="nvlink-off",
        title="GPUs of a node do not use NVLink",
        remedy="NCCL_P2P_DISABLE and NCCL_P2P_LEVEL, the fabric manager, and nvidia-smi topo -m",
        variants=_no_nvlink,
        evidence=_says_nvlink,
        doubt=0.2,
    ),
    Signature(
        name="slow-pcie",
        title="PCIe below its generation or width",
        remedy="lspci -vv: LnkSta of GPUs, NICs and the switches between against LnkCap; the "
        "slot's setting in the BIOS",
        variants=_slower_pcie,
        evidence=_says_nothing,
    ),
    Signature(
        name="slow-start",
        title="a long start-up, at a full rate",
        remedy="CPU side: the proxy threads' cores and NUMA node (NCCL_IGNORE_CPU_AFFINITY, "
        "numactl), C-states and the governor, hosts with other load; NCCL_PROTO must not leave LL "
        "and LL128 out",
        variants=_startup,
        evidence=_says_nothing,
        doubt=0.1,
    ),
)
