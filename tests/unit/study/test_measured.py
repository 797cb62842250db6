"""Free text in published tables, read as machines."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from netloom.catalog.load import load_catalog
from netloom.errors import SpecError
from netloom.study.measured import Case, case_of, read_measurement
from netloom.study.validate import read_rows, shipped_rows

if TYPE_CHECKING:
    from pathlib import Path

HEADER = "collective,gpu,nodes,ranks,scaleup,scaleout,size_bytes,time_us,busbw_GBps,source\n"


def case(**row: str) -> Case:
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
    ],
)
def test_the_gpu_column_names_a_node(gpu: str, node: str) -> None:
    assert case(gpu=gpu).network.node.name == node


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


def test_an_aws_instance_names_its_nics() -> None:
    found = case(gpu="B200-SXM (AWS P6)", scaleout="")
    assert (found.network.node.num_nics, found.network.nic.name) == (8, "EFA-v4")
    assert found.assumed == ()


def test_what_is_missing_is_assumed_aloud() -> None:
    found = case(gpu="not stated", nodes="", size_bytes="", scaleout="")
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
        ("all_reduce,H100,1,many,,,1024,1,1,x", "row 1.*number of 'ranks'"),
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


def test_a_missing_file_is_an_error_with_its_name(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=r"nowhere\.csv: cannot be read"):
        read_rows(tmp_path / "nowhere.csv")


def test_the_shipped_tables_are_whole() -> None:
    # 158 rows less none that were rounded to nothing without a time, and 896.
    rows = shipped_rows()
    assert len(rows) == 158 + 896
    assert len({row.row_id for row in rows}) == len(rows)
