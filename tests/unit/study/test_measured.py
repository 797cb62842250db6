"""Free text in published tables, read as machines."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from netloom.errors import SpecError
from netloom.parts.load import load_catalog
from netloom.validation.collectives.measured import MeasuredCase, case_of, read_measurement
from netloom.validation.collectives.suite import read_rows, shipped_rows

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
        ("B200-SXM (AWS P6)", "dgx-b200"),
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
    [("A100-PCIE", "pcie4"), ("NVIDIA A100 80GB PCIe", "pcie4"), ("V100-PCIE-32GB", "pcie3")],
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
    "gpu", ["QQQ", "H20", "L40S", "GH200", "H800", "H100 NVL", "MI300A", "A100 and H100", "L4-PCIe"]
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
        ("HPE Slingshot-11 4x200Gb per node", 4, "rocev2-200g"),
        ("2x HDR200 IB per node", 2, "infiniband-hdr"),
        ("4 NICs at ~24GB/s each (200Gb) per maintainer comment", 4, "infiniband-hdr"),
        ("8x 400G NDR", 8, "infiniband-ndr"),
        ("8 x 400Gb/s RoCEv2", 8, "rocev2-400g"),
        ("8x400", 8, "infiniband-ndr"),
        ("32x100G EFA", 32, "rocev2-100g"),
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
    # 158 rows less none that were rounded to nothing without a time, and 896.
    rows = shipped_rows()
    assert len(rows) == 158 + 896
    assert len({row.row_id for row in rows}) == len(rows)


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
