"""File formats are found by name, by suffix and by how a file begins."""

from __future__ import annotations

import pytest

from netloom.errors import SpecError
from netloom.formats.register import FORMATS, detect, formats_of

FAMILIES = {
    "benchmarks",
    "infiniband",
    "inventory",
    "nccl",
    "prometheus",
    "simulators",
    "traces",
    "training",
}


def test_every_format_is_of_a_family_and_reads_or_writes() -> None:
    for one in FORMATS.entries():
        assert one.family in FAMILIES
        assert one.parse or one.render, one.name


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("a_device,a_port,b_device,b_port\n", "cable-list"),
        ('switchguid=0x1(1)\nSwitch\t40 "S-1"\n', "ibnetdiscover"),
        ("  8  4[  ] ==( 4X 53.125 Gbps Active/ LinkUp)==> 2 1[  ]", "iblinkinfo"),
        ("CA     2  1 0x02006e6c00000101 4x HDR - SW     8  4 0x02", "ibnetdiscover-ports"),
    ],
)
def test_a_file_of_cables_is_known_by_how_it_begins(text: str, name: str) -> None:
    assert detect(text, name="seen.txt", holds="cables").name == name


def test_a_suffix_goes_before_the_content() -> None:
    assert detect("4 2\n", name="tree.topo", holds="case").name == "htsim"
    assert detect("4 2\n", name="topology.txt", holds="case").name == "ns3-hpcc"
    assert detect("Nodes 4\n", name="renamed.txt", holds="case").name == "htsim"


def test_what_is_none_of_them_is_refused_with_those_that_are() -> None:
    with pytest.raises(SpecError, match=r"^x\.txt: .* holds cables; bring one of: .*ibnetdiscover"):
        detect("hello\n", name="x.txt", holds="cables")


def test_an_inventory_is_written_in_every_format_that_holds_one() -> None:
    assert [one.name for one in formats_of("inventory")] == [
        "dot",
        "netbox",
        "point-to-point",
        "slurm",
    ]
