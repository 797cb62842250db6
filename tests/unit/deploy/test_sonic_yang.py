"""A config_db becomes an instance of whatever models are given, and yanglint judges it."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003  (pytest's tmp_path)

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netloom.drivers.programs import missing_packages
from netloom.drivers.yanglint import lint, tables_of
from netloom.errors import LabError, SpecError
from netloom.formats.infiniband.partition_keys import parse_keys
from netloom.formats.sonic.yang import instance, parse_yang

# Models of our own in the shape of SONiC's: a list, one with two keys, and a map inside a list.
PORT = """
module sonic-port {
    yang-version 1.1;
    namespace "http://example.org/sonic-port"; // where
    prefix port;
    container sonic-port {
        container PORT {
            list PORT_LIST {
                key "name";
                leaf name { type string { pattern 'Ethernet[0-9]+'; } }
                leaf speed { type uint32 { range "1..800000"; } mandatory true; }
            }
        }
    }
}
"""
MAPS = """
module sonic-maps {
    yang-version 1.1;
    namespace "http://example.org/" + "sonic-maps";
    prefix maps;
    import sonic-port { prefix port; }
    container sonic-maps {
        container QUEUE { /* two
                             keys */
            list QUEUE_LIST {
                key "ifname qindex";
                leaf ifname {
                    type leafref { path "/port:sonic-port/port:PORT/port:PORT_LIST/port:name"; }
                }
                leaf qindex { type uint8; }
                leaf scheduler { type string; }
            }
        }
        container TC_MAP {
            list TC_MAP_LIST {
                key "name";
                leaf name { type string; }
                list TC_MAP {
                    key "tc";
                    leaf tc { type uint8 { range "0..7"; } }
                    leaf pg { type uint8 { range "0..7"; } }
                }
            }
        }
        container DEVICE { container localhost { leaf hostname { type string; } } }
    }
}
"""
GOOD: dict[str, dict[str, dict[str, str]]] = {
    "PORT": {"Ethernet0": {"speed": "400000"}},
    "QUEUE": {"Ethernet0|3": {"scheduler": "a"}},
    "TC_MAP": {"ROCE": {"3": "3", "6": "0"}},
    "DEVICE": {"localhost": {"hostname": "leaf000"}},
}


@pytest.fixture
def models(tmp_path: Path) -> Path:
    (tmp_path / "sonic-port.yang").write_text(PORT)
    (tmp_path / "sonic-maps.yang").write_text(MAPS)
    return tmp_path


def judge(config: dict[str, dict[str, dict[str, str]]], models: Path) -> None:
    missing = missing_packages(["yanglint"])
    if missing:
        pytest.skip(f"apt-get install {' '.join(missing)}")
    data = models / "data.xml"
    data.write_text(instance(config, tables_of(models), where="leaf"))
    lint(data, models, ["sonic-maps", "sonic-port"])


def test_a_map_is_a_list_inside_a_list(models: Path) -> None:
    text = instance({"TC_MAP": GOOD["TC_MAP"]}, tables_of(models), where="leaf")
    assert text == (
        '<sonic-maps xmlns="http://example.org/sonic-maps"><TC_MAP><TC_MAP_LIST><name>ROCE</name>'
        "<TC_MAP><pg>3</pg><tc>3</tc></TC_MAP><TC_MAP><pg>0</pg><tc>6</tc></TC_MAP>"
        "</TC_MAP_LIST></TC_MAP></sonic-maps>"
    )


def test_yanglint_accepts_a_good_configuration(models: Path) -> None:
    judge(GOOD, models)


@pytest.mark.parametrize(
    ("table", "rows"),
    [
        ("PORT", {"Ethernet0": {"speed": "900000"}}),
        ("PORT", {"Ethernet0": {}}),
        ("PORT", {"eth0": {"speed": "400000"}}),
        ("QUEUE", {"Ethernet4|3": {}}),
        ("TC_MAP", {"ROCE": {"3": "8"}}),
        ("DEVICE", {"localhost": {"hostnam": "x"}}),
    ],
)
def test_yanglint_refuses_planted_errors(
    models: Path, table: str, rows: dict[str, dict[str, str]]
) -> None:
    with pytest.raises(LabError, match="exit status"):
        judge({**GOOD, table: rows}, models)


def test_a_table_without_a_model_is_named(models: Path) -> None:
    with pytest.raises(SpecError, match="no model has the table PFC_WD"):
        instance({"PFC_WD": {}}, tables_of(models), where="leaf")


def test_a_folder_without_models_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=r"has no sonic-\*.yang"):
        tables_of(tmp_path)


@given(st.text(alphabet='{};"/* abc\n+', max_size=60))
def test_any_text_is_a_module_or_refused(text: str) -> None:
    try:
        parse_yang(text)
    except ValueError as error:
        assert "not one YANG module" in str(error)  # noqa: PT017  (either will do)


@given(st.text(max_size=200))
def test_whatever_smpquery_prints_gives_keys_or_an_error(text: str) -> None:
    try:
        assert all(0 < key <= 0xFFFF for key in parse_keys(text))
    except LabError as error:
        assert "smpquery" in str(error)  # noqa: PT017  (either will do)


def test_keys_are_those_that_smpquery_shows() -> None:
    # From a port of a tenant in a lab.
    text = (
        "   0: 0x7fff 0x8002 0x0000 0x0000 0x0000 0x0000 0x0000 0x0000\n"
        "   8: 0x0000 0x0000 0x0000 0x0000 0x0000 0x0000 0x0000 0x0000\n"
    )
    assert parse_keys(text) == (0x7FFF, 0x8002)
