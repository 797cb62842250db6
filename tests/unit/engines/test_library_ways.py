"""The library's way to the wire as the scenario says it: ``cluster.nccl``."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netloom.cli.main import main
from netloom.engines.analytic import AnalyticEngine
from netloom.errors import SpecError
from netloom.parts.load import load_catalog
from netloom.spec.scenario import Cluster, FabricSpec, Nccl
from netloom.study.networks import network_of
from netloom.workload.collective import Collective, CollectiveKind, Group

CATALOG = load_catalog()
MACHINES = {
    "dgx-h100": "infiniband-ndr",
    "dgx-a100": "infiniband-hdr",
    "dgx-b200": "spectrum-x-400g",
    "mi300x-8": "rocev2-400g",
}
NODES = 4
kinds = st.sampled_from(list(CollectiveKind))
sizes = st.floats(3, 34).map(lambda exponent: 2.0**exponent)
machines = st.sampled_from(sorted(MACHINES))


def cluster(node: str, technology: str, **nccl: object) -> Cluster:
    return Cluster(
        nodes=NODES,
        node=node,
        fabric=FabricSpec(technology=technology),
        nccl=Nccl.model_validate(nccl),
    )


def takes_s(node: str, technology: str, kind: CollectiveKind, size: float, **nccl: object) -> float:
    where = network_of(cluster(node, technology, **nccl), CATALOG)
    per_node = where.node.num_gpus
    asked = Collective(
        kind=kind, size_bytes=size, group=Group(size=NODES * per_node, per_node=per_node)
    )
    return AnalyticEngine().run(asked, where).duration_s


@given(node=machines, kind=kinds, size=sizes)
def test_sockets_are_never_faster_than_verbs(node: str, kind: CollectiveKind, size: float) -> None:
    verbs, sockets = (
        takes_s(node, MACHINES[node], kind, size, net=net) for net in ("ib", "sockets")
    )
    assert sockets >= verbs


@pytest.mark.parametrize(
    ("node", "technology"), [("polaris", "slingshot-11"), ("aws-p5", "efa-v2")]
)
@pytest.mark.parametrize("size", [1e3, 1e6, 1e9])
def test_sockets_are_never_faster_than_libfabric(node: str, technology: str, size: float) -> None:
    ofi, sockets = (
        takes_s(node, technology, CollectiveKind.ALL_GATHER, size, net=net)
        for net in ("ofi", "sockets")
    )
    assert sockets >= ofi


@given(node=machines, kind=kinds, size=sizes)
def test_copying_through_the_host_is_never_faster(
    node: str, kind: CollectiveKind, size: float
) -> None:
    direct, copied = (
        takes_s(node, MACHINES[node], kind, size, gpudirect=gpudirect)
        for gpudirect in (True, False)
    )
    assert copied >= direct


def test_without_gpudirect_half_of_pcie_is_left_for_the_nics() -> None:
    # A DGX H100 has 400 Gb/s NICs on PCIe of 504 Gb/s a GPU (63 GB/s); half of that is 31.5 GB/s.
    node = CATALOG.nodes["dgx-h100"]
    size = 2.0**36
    kind = CollectiveKind.ALL_TO_ALL
    copied = takes_s("dgx-h100", "infiniband-ndr", kind, size, gpudirect=False)
    crossing = size * (NODES - 1) / NODES * 8 / (0.96 * node.host_rate_bps / 2)
    assert copied == pytest.approx(crossing, rel=0.01)


def test_the_technologys_own_way_named_changes_nothing() -> None:
    for net, node, technology in (
        ("ib", "dgx-h100", "infiniband-ndr"),
        ("ofi", "polaris", "slingshot-11"),
        ("sockets", "dgx-h100", "tcp-400g"),
    ):
        kind = CollectiveKind.ALL_REDUCE
        assert takes_s(node, technology, kind, 1e8, net=net) == takes_s(node, technology, kind, 1e8)


@pytest.mark.parametrize(
    ("net", "technology", "remedy"),
    [
        ("ib", "tcp-400g", "use tcpx or tcpxo or sockets"),
        ("ofi", "infiniband-ndr", "use ib or sockets"),
        ("tcpxo", "rocev2-400g", "use ib or sockets"),
    ],
)
def test_a_plugin_that_does_not_run_there_is_refused(
    net: str, technology: str, remedy: str
) -> None:
    with pytest.raises(SpecError, match=rf"cluster.nccl.net: .*{remedy}"):
        network_of(cluster("dgx-h100", technology, net=net), CATALOG)


def test_a_technology_that_is_compared_has_its_own_way() -> None:
    asked = cluster("dgx-h100", "infiniband-ndr", net="ib", gpudirect=False)
    other = network_of(asked, CATALOG, technology="tcp-400g")
    assert (other.net, other.gpudirect) == ("", False)


def test_sockets_with_gpudirect_are_refused() -> None:
    with pytest.raises(ValueError, match="sockets copy through the host"):
        Nccl(net="sockets", gpudirect=True)


def test_check_names_the_key(tmp_path, capsys) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "job.yaml"
    path.write_text(
        "cluster: {nodes: 2, nccl: {net: ofi}}\n"
        "job: {model: llama3-8b, training: {global_batch: 64}}\n"
    )
    assert main(["check", str(path)]) == 2
    assert "cluster.nccl.net" in capsys.readouterr().err


def test_what_was_not_measured_is_said() -> None:
    where = network_of(cluster("dgx-h100", "infiniband-ndr", net="sockets"), CATALOG)
    asked = Collective(
        kind=CollectiveKind.ALL_REDUCE, size_bytes=1e8, group=Group(size=32, per_node=8)
    )
    doubts = AnalyticEngine().run(asked, where).validity.doubts
    assert any("Sockets over infiniband-ndr" in doubt for doubt in doubts)
