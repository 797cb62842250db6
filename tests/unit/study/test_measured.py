"""Free text in published tables, read as machines."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from netloom.errors import SpecError
from netloom.parts.load import load_catalog
from netloom.validation.collectives.machines import machine_of, with_machines
from netloom.validation.collectives.measured import MeasuredCase, case_of, read_measurement
from netloom.validation.collectives.suite import validate_collectives
from netloom.validation.collectives.tables import read_rows, read_table, shipped_table

if TYPE_CHECKING:
    from pathlib import Path

HEADER = "collective,gpu,nodes,ranks,scaleup,scaleout,size_bytes,time_us,busbw_GBps,source\n"


def case(**row: str) -> MeasuredCase:
    known = {"collective": "all_reduce", "ranks": "16", "nodes": "2", "size_bytes": "1048576"}
    measured = read_measurement(known | {"busbw_GBps": "10"} | row, 1, where="test")
    return case_of(measured, load_catalog())


@pytest.mark.parametrize(
    ("gpu", "node"),
    [
        ("B200-SXM (AWS P6)", "aws-p6-b200"),
        ("H100-SXM-80GB (AWS P5)", "aws-p5"),
        ("A100-PCIE-40GB", "pcie-a100-8"),
        ("GB200", "gb200-nvl72"),
        ("H100-SXM-80GB", "dgx-h100"),
        ("A100-80GB", "dgx-a100"),
        ("A100", "dgx-a100"),
        ("V100", "dgx-1v"),
        ("MI250X (4 per node, 8 GCD)", "oam-hcm-8"),
        ("H100 PCIe", "pcie-h100-8"),
        ("H100-PCIe", "pcie-h100-8"),
        ("NVIDIA H100 80GB PCIe", "pcie-h100-8"),
        ("NVIDIA H100 80GB HBM3", "dgx-h100"),
        ("8xH100", "dgx-h100"),
        ("dgx-2", "dgx-2"),
        ("V100-SXM3-32GB", "dgx-2"),
        ("V100-SXM2-16GB", "dgx-1v"),
        ("A100-SXM4-40GB", "dgx-a100"),
        ("A100-SXM-40GB", "dgx-a100-320gb"),
        ("H100 (as fast as an A100)", "dgx-h100"),
    ],
)
def test_the_gpu_column_names_a_node(gpu: str, node: str) -> None:
    assert case(gpu=gpu).network.node.name == node


@pytest.mark.parametrize(
    ("nodes", "ranks", "racks"),
    [
        ("1", "72", 1),
        ("2", "144", 2),  # racks of 72 GPUs
        ("2", "8", 1),  # trays of 4 GPUs in one rack
        ("18", "72", 1),
        ("36", "144", 2),
        ("2", "16", 2),  # more than a tray has: racks
        ("", "144", 2),
    ],
)
def test_nodes_of_a_rack_are_racks_or_trays_by_their_ranks(
    nodes: str, ranks: str, racks: int
) -> None:
    found = case(gpu="GB200", nodes=nodes, ranks=ranks, scaleout="4x400 IB")
    assert found.network.design.num_nodes == racks
    assert any("are trays" in text for text in found.assumed) == (
        nodes in {"18", "36"} or ranks == "8"
    )


def test_ranks_that_could_be_on_racks_or_on_trays_are_refused() -> None:
    with pytest.raises(SpecError, match="can be on racks or on trays; give 4 ranks for each tray"):
        case(gpu="GB200", nodes="4", ranks="8", scaleout="4x400 IB")


@pytest.mark.parametrize(
    ("gpu", "scale_up"),
    [("P100-PCIE-16GB", "pcie3"), ("V100-PCIE-32GB", "pcie3")],
)
def test_a_pcie_card_without_a_node_of_its_own_is_put_on_a_tree_aloud(
    gpu: str, scale_up: str
) -> None:
    found = case(gpu=gpu, ranks="8", nodes="1")
    assert found.network.scale_up.name == scale_up
    assert found.network.node.gpu[:4] in gpu
    (assumed,) = found.assumed
    assert assumed.endswith(f"have no node in the catalogue; eight on a {scale_up} tree assumed.")


def test_the_scale_up_column_can_say_that_it_is_a_pcie_card() -> None:
    assert case(gpu="H100", scaleup="PCIe5").network.node.name == "pcie-h100-8"
    assert case(gpu="H100", scaleup="NVLink4").network.node.name == "dgx-h100"


@pytest.mark.parametrize(
    "gpu",
    ["QQQ", "H2O", "L40S", "GH2000", "H801", "H100 NVL", "MI300A", "A100 and H100", "L4-PCIe"],
)
def test_an_unknown_gpu_is_no_other(gpu: str) -> None:
    with pytest.raises(SpecError, match=f"unknown GPU '{gpu}'"):
        case(gpu=gpu)


@pytest.mark.parametrize(("ranks", "nodes"), [("16", "1"), ("2", "4"), ("1", "1")])
def test_ranks_that_are_not_on_the_nodes_cannot_be_predicted(ranks: str, nodes: str) -> None:
    with pytest.raises(SpecError, match=r"ranks do not fill|single rank"):
        case(gpu="H100", ranks=ranks, nodes=nodes)


@pytest.mark.parametrize("count", ["0", "1025", "9" * 5000])
def test_an_absurd_number_of_nics_is_refused(count: str) -> None:
    with pytest.raises(SpecError, match="no number of NICs; give 1 to 1024"):
        case(gpu="H100", scaleout=f"{count}x400G")


@pytest.mark.parametrize(
    ("scale_out", "num_nics", "technology"),
    [
        ("HPE Slingshot-11 4x200Gb per node", 4, "slingshot-11"),
        ("4x200Gb Ethernet GPUDirect-TCPX per node", 4, "tcpx-200g"),
        ("8x200Gb Ethernet GPUDirect-TCPXO per node", 8, "tcpxo-200g"),
        ("2x200Gb Ethernet TCP sockets over Slingshot-11 per node", 2, "tcp-200g"),
        ("4x100Gb EFA v1 per node", 4, "efa-v1"),
        ("16x200G EFA", 16, "efa-v3"),
        ("2x HDR200 IB per node", 2, "infiniband-hdr"),
        ("4 NICs at ~24GB/s each (200Gb) per maintainer comment", 4, "infiniband-hdr"),
        ("8x 400G NDR", 8, "infiniband-ndr"),
        ("8 x 400Gb/s RoCEv2", 8, "rocev2-400g"),
        ("8x400", 8, "infiniband-ndr"),
        ("32x100G EFA", 32, "efa-v2"),
        ("8x ConnectX-7 400G InfiniBand", 8, "infiniband-ndr"),
    ],
)
def test_the_scale_out_column_names_nics(scale_out: str, num_nics: int, technology: str) -> None:
    found = case(gpu="H100", scaleout=scale_out)
    assert (found.network.node.num_nics, found.network.technology.name) == (num_nics, technology)
    assert found.assumed == ()


def test_a_rate_that_no_infiniband_has_is_assumed_aloud_and_no_ethernet_has_not_predicted() -> None:
    assert case(gpu="H100", scaleout="8x999G").assumed == (
        "No InfiniBand has ports of 999 Gb/s; NDR assumed.",
    )
    with pytest.raises(SpecError, match="no technology runs NICs of 999 Gb/s"):
        case(gpu="H100", scaleout="8x999G RoCE")
    assert case(gpu="H100", ranks="8", nodes="1", scaleout="8x999G RoCE").assumed == ()


def test_an_aws_instance_names_its_nics() -> None:
    found = case(gpu="B200-SXM (AWS P6)", scaleout="")
    assert (found.network.node.num_nics, found.network.nic.name) == (8, "EFA-v4")
    assert found.assumed == ()


def test_what_is_missing_is_assumed_aloud() -> None:
    found = case(gpu="not stated", nodes="", ranks="8", size_bytes="", scaleout="")
    assert len(found.assumed) == 3
    assert "GPU is not stated" in found.assumed[0]


def test_nics_do_not_matter_inside_a_node() -> None:
    assert case(gpu="H100", nodes="1", ranks="8", scaleout="NVLink SHARP").assumed == ()


def test_time_counts_before_a_rounded_bandwidth() -> None:
    # 1 MiB in 100 us is 10.486 GB/s; x 2 x 15/16
    row = {"collective": "all_reduce", "ranks": "16", "size_bytes": "1048576", "time_us": "100"}
    measured = read_measurement(row | {"busbw_GBps": "20"}, 1, where="test")
    assert measured.bus_gbps == pytest.approx(10.48576 * 1.875)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("all_shuffle,H100,1,8,,,1024,1,1,x", "row 1.*needs a 'collective'"),
        (
            "all_reduce,H100,1,many,,,1024,1,1,x",
            "row 1: ranks 'many' is not a number; say how many",
        ),
        ("all_reduce,H100,1,,,,1024,1,1,x", "row 1: needs a number of 'ranks'"),
        ("all_reduce,H100,1,0,,,1024,1,1,x", "row 1: ranks '0' is not from"),
        ("all_reduce,H100,1,-8,,,1024,1,1,x", "row 1: ranks '-8' is not from"),
        ("all_reduce,H100,1,8.5,,,1024,1,1,x", "ranks '8.5' is not a whole number from 1"),
        ("all_reduce,H100,nan,8,,,1024,1,1,x", "row 1: nodes 'nan' is not from"),
        ("all_reduce,H100,-1,8,,,1024,1,1,x", "row 1: nodes '-1' is not from"),
        ("all_reduce,H100,inf,8,,,1024,1,1,x", "row 1: nodes 'inf' is not from"),
        ("all_reduce,H100,1.5,8,,,1024,1,1,x", "nodes '1.5' is not a whole number"),
        ("all_reduce,H100,1,8,,,0,1,1,x", "size_bytes '0' is not from"),
        ("all_reduce,H100,1,8,,,1024,1e-300,1,x", "time_us '1e-300' is not from"),
        ("all_reduce,H100,1,8,,,1024,,1e-320,x", "busbw_GBps '1e-320' is not from"),
        ("all_reduce,H100,1,8", "neither time_us"),
        ("all_reduce,H100,1,8,,,1024,1,1,x,y,z", "row 1: has more cells than the header"),
        ("all_reduce,H100\x1b[31m,1,8,,,1024,1,1,x", r"gpu 'H100\\x1b\[31m' holds control"),
        ("all_reduce,H100,1,8,,,1024,1,1," + "x" * 131_073, r"row 1: is not CSV \(field larger"),
        ("all_reduce,H100,1,8,,,big,1,1,x", "size_bytes 'big' is not a number"),
        ("all_reduce,H100,1,8,,,1024,,,x", "neither time_us"),
        ("", "has no rows"),
    ],
)
def test_a_wrong_file_says_what_is_wrong(tmp_path: Path, line: str, words: str) -> None:
    path = tmp_path / "mine.csv"
    path.write_text(HEADER + line)
    with pytest.raises(SpecError, match=words):
        read_rows(path)


def test_a_short_row_lacks_its_last_cells_and_a_spreadsheet_may_write_the_counts(
    tmp_path: Path,
) -> None:
    path = tmp_path / "mine.csv"
    path.write_text("\ufeff" + HEADER + "all_reduce,H100,2.0,16.0,,8x400G,1048576,100")
    (row,) = read_rows(path)
    assert (row.num_nodes, row.num_ranks, row.source) == (2, 16, "mine.csv")


def test_a_column_that_stands_there_twice_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text("collective,ranks,ranks\nall_reduce,8,16\n")
    with pytest.raises(SpecError, match="column 'ranks' stands there twice"):
        read_rows(path)


def test_a_missing_file_is_an_error_with_its_name(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=r"nowhere\.csv: cannot be read"):
        read_rows(tmp_path / "nowhere.csv")


def test_the_shipped_tables_are_whole() -> None:
    # 158 rows less none that were rounded to nothing without a time, 896, and 1,709 of logs; the
    # 32 of reduce cannot be read as long as no collective is called so.
    table = shipped_table()
    assert len(table.rows) + len(table.skipped) == 158 + 896 + 1709 + 32
    ids = {row.row_id for row in table.rows} | {row.row_id for row in table.skipped}
    assert len(ids) == 158 + 896 + 1709 + 32


@pytest.mark.parametrize(
    ("written", "kind"),
    [
        ("alltoall", "all_to_all"),
        ("alltoall_perf", "all_to_all"),
        ("AllReduce", "all_reduce"),
        ("reduce-scatter", "reduce_scatter"),
        ("sendrecv_perf", "send_recv"),
    ],
)
def test_a_collective_is_known_by_any_spelling_of_its_name(written: str, kind: str) -> None:
    assert case(collective=written).collective.kind.value == kind


LOGS = HEADER.strip() + ",cluster,technology,gpus_per_node,nics_per_node,nic_gbps,status\n"


def log(cluster: str, gpu: str, *more: str) -> str:
    """Return a line of a log: nodes, ranks, technology, GPUs, NICs, Gb/s, status."""
    nodes, ranks, technology, gpus, nics, gbps, status = more
    start = f"all_reduce,{gpu},{nodes},{ranks},,,1073741824,10000,,posted"
    return f"{start},{cluster},{technology},{gpus},{nics},{gbps},{status}"


def read_logs(path: Path, *lines: str) -> MeasuredCase:
    path.write_text(LOGS + "\n".join(lines))
    return case_of(read_table(path).rows[0], load_catalog())


@pytest.mark.parametrize(
    ("line", "node", "num_nics", "technology"),
    [
        (
            ("ALCF Polaris NCCL 2.21", "A100-SXM4-40GB", "2", "8", "Slingshot-11", "4", "2", "200"),
            *("polaris", 2, "slingshot-11"),
        ),
        (
            ("new", "A100-SXM4-40GB", "2", "8", "Slingshot-11", "4", "4", "200"),
            "perlmutter",
            4,
            "slingshot-11",
        ),
        (
            ("new", "A100-SXM4", "2", "8", "InfiniBand HDR", "4", "4", "200"),
            "a100-4",
            4,
            "infiniband-hdr",
        ),
        (
            ("new", "H100-SXM-80GB", "2", "8", "InfiniBand NDR", "4", "4", "400"),
            "h100-4",
            4,
            "infiniband-ndr",
        ),
        (
            ("new", "NVIDIA GH200 120GB", "2", "8", "Slingshot-11", "4", "4", "200"),
            "gh200-4",
            4,
            "slingshot-11",
        ),
        (
            ("new", "GH200", "2", "2", "InfiniBand NDR", "1", "1", "400"),
            "gh200-1",
            1,
            "infiniband-ndr",
        ),
        (
            ("new", "MI250X", "2", "16", "Slingshot-11", "8", "4", "200"),
            "frontier",
            4,
            "slingshot-11",
        ),
        (("new", "H200-SXM", "2", "16", "EFA", "8", "16", "200"), "aws-p5en", 16, "efa-v3"),
        (("new", "A100-SXM4-80GB", "2", "16", "EFA", "8", "4", "100"), "aws-p4de", 4, "efa-v1"),
        (("new", "H100-SXM-80GB", "2", "16", "TCP", "8", "1", "25"), "dgx-h100", 1, "tcp-100g"),
    ],
)
def test_a_log_says_its_machine_in_columns(
    line: tuple[str, ...], node: str, num_nics: int, technology: str, tmp_path: Path
) -> None:
    found = read_logs(tmp_path / "logs.csv", log(line[0], line[1], *line[2:], "ok"))
    network = found.network
    assert (network.node.name, network.node.num_nics) == (node, num_nics)
    assert network.technology.name == technology
    assert found.assumed == ()


def test_a_port_slower_than_any_of_its_technology_keeps_its_rate(tmp_path: Path) -> None:
    line = log("new", "H100", "2", "16", "TCP", "8", "1", "25", "ok")
    assert read_logs(tmp_path / "logs.csv", line).network.nic_rate_bps == 25e9


def test_few_ranks_of_a_large_node_stay_on_the_large_node(tmp_path: Path) -> None:
    # Four ranks of the node that runs eight elsewhere in the file are on the eight-GPU board.
    few = log("ours", "H100-SXM-80GB", "2", "8", "InfiniBand NDR", "4", "4", "400", "ok")
    all_eight = log("ours", "H100-SXM-80GB", "2", "16", "InfiniBand NDR", "8", "4", "400", "ok")
    assert read_logs(tmp_path / "one.csv", few).network.node.name == "h100-4"
    assert read_logs(tmp_path / "two.csv", few, all_eight).network.node.name == "dgx-h100"


def test_trays_of_a_rack_are_no_assumption_where_the_gpus_of_a_node_are_stated(
    tmp_path: Path,
) -> None:
    # 32 trays of 4 are two racks of 64; each tray has 4 NICs, a rack 72.
    line = log("racks", "GB200", "32", "128", "InfiniBand NDR", "4", "4", "400", "ok")
    found = read_logs(tmp_path / "logs.csv", line)
    assert (found.collective.group.num_nodes, found.collective.group.per_node) == (2, 64)
    assert found.network.node.num_nics == 72
    assert found.assumed == ()


@pytest.mark.parametrize(
    ("cluster", "machine"),
    [
        ("ALCF Polaris NCCL 2.18", "ALCF Polaris"),
        ("ALCF Polaris NCCL 2.21", "ALCF Polaris"),
        ("AWS P5 awsome EKS", "AWS P5"),
        ("AWS P5 batch", "AWS P5"),
        ("AWS P5en here", "AWS P5en"),
        ("Azure ND_A100_v4", "Azure ND A100 v4"),
        ("Azure ND A100 v4 (AKS, IPoIB)", "Azure ND A100 v4"),
        ("GCP A3 Mega toolkit", "GCP A3 Mega"),
        ("our own", "our own"),
    ],
)
def test_library_versions_and_runs_of_a_machine_are_one_machine(cluster: str, machine: str) -> None:
    row = {"collective": "all_reduce", "ranks": "8", "busbw_GBps": "1", "cluster": cluster}
    assert machine_of(with_machines([read_measurement(row, 1, where="test")])[0]) == machine


def test_a_row_that_cannot_be_read_is_skipped_with_its_reason(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    good = "all_reduce,H100,1,8,,,1073741824,4500,,x"
    path.write_text(
        HEADER + f"{good}\nreduce_map,H100,1,8,,,1024,1,1,x\n{good.replace('8', 'many', 1)}"
    )
    table = read_table(path)
    assert [row.row_id for row in table.rows] == [1]
    assert [(row.row_id, row.table) for row in table.skipped] == [(2, "mine.csv"), (3, "mine.csv")]
    assert "not 'reduce_map'" in table.skipped[0].reason
    found = validate_collectives(table.rows, load_catalog(), skipped=table.skipped)
    assert (found.rows, found.skipped_rows) == (1, 2)


@pytest.mark.parametrize("status", ["untuned", "dip", "suspect", "anything"])
def test_a_row_is_judged_only_where_its_status_is_ok(status: str, tmp_path: Path) -> None:
    path = tmp_path / "logs.csv"
    fields = ("H100-SXM-80GB", "2", "16", "InfiniBand NDR", "8", "8", "400")
    path.write_text(LOGS + log("a", *fields, "ok") + "\n" + log("a", *fields, status))
    ok, other = validate_collectives(read_table(path).rows, load_catalog()).per_row
    assert (ok.judged, ok.counted) == (True, True)
    assert (other.judged, other.counted) == (False, False)
    assert f"Status {status}: not judged." in other.reason
    assert other.error_pct == ok.error_pct


@pytest.mark.parametrize(
    ("nodes", "technology", "kind"),
    [
        ("16", "Slingshot-11", "fat-tree"),  # one switch: nothing contends
        ("17", "Slingshot-11", "dragonfly-plus"),
        ("17", "InfiniBand HDR", "rail-fat-tree"),
    ],
)
def test_more_than_sixteen_nodes_stand_in_a_network_of_several_switches(
    nodes: str, technology: str, kind: str, tmp_path: Path
) -> None:
    fields = ("A100-SXM4-40GB", nodes, str(4 * int(nodes)), technology, "4", "4", "200", "ok")
    found = read_logs(tmp_path / "logs.csv", log("new", *fields))
    assert found.network.design.topology.kind == kind
    assert found.network.design.num_nodes == int(nodes)
