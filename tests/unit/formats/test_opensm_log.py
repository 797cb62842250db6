from __future__ import annotations

from pathlib import Path

import pytest

from netloom.errors import SpecError
from netloom.formats.infiniband.opensm import (
    ENGINES,
    SubnetManager,
    check_engine,
    parse_log,
    render_configuration,
    render_roots,
)

RECORDED = Path(__file__).parents[2] / "data" / "lab" / "opensm.log.txt"
# Lines of OpenSM 3.3.23 with an engine it does not have, and no no_fallback.
FALLBACK = """\
Nov 15 06:16:01 697400 [33619740] 0x80 -> Entering DISCOVERING state
Nov 15 06:16:01 697400 [33619740] 0x02 -> setup_routing_engine: cannot find or setup routing \
engine 'ar_ftree'
Nov 15 06:16:01 704969 [306126C0] 0x80 -> Entering MASTER state
Nov 15 06:16:01 706174 [306126C0] 0x02 -> osm_ucast_mgr_process: minhop tables configured on all \
switches
Nov 15 06:16:01 707836 [306126C0] 0x02 -> SUBNET UP
"""
# The same with no_fallback, and QoS missing for torus-2QoS.
REFUSED = """\
Nov 15 06:16:01 704969 [306126C0] 0x80 -> Entering MASTER state
Nov 15 06:16:01 705000 [306126C0] 0x01 -> torus_build_lfts: ERR 4E44: Routing engine list \
contains torus-2QoS. Enable QoS for correct operation (-Q or 'qos TRUE' in opensm.conf).
Nov 15 06:16:01 706174 [306126C0] 0x01 -> osm_ucast_mgr_process: No routing engine able to \
successfully configure  switch tables on current fabric
"""


def test_a_log_says_state_engine_and_sweeps() -> None:
    log = parse_log(RECORDED.read_text(encoding="utf-8"))
    assert (log.state, log.engine, log.has_failed) == ("master", "updn", False)
    assert log.num_sweeps == RECORDED.read_text(encoding="utf-8").count("SUBNET UP")
    assert not log.fell_back("updn")


def test_a_silent_fall_back_is_seen() -> None:
    log = parse_log(FALLBACK)
    assert log.num_sweeps == 1
    assert log.fell_back("ar_ftree")


def test_a_fabric_that_no_engine_can_route_is_seen_with_the_reason() -> None:
    log = parse_log(REFUSED)
    assert log.has_failed
    assert "Enable QoS" in log.errors[-1]
    assert not parse_log(REFUSED + FALLBACK).has_failed  # a later sweep did it


def test_only_the_last_errors_are_kept() -> None:
    many = "".join(f"[1] 0x01 -> x: ERR {i:04d}: no\n" for i in range(100))
    errors = parse_log(many).errors
    assert (len(errors), errors[-1]) == (20, "x: ERR 0099: no")


def test_the_configuration_forbids_a_fall_back_and_stays_in_its_folder(tmp_path: Path) -> None:
    manager = SubnetManager(folder=tmp_path)
    text = render_configuration(manager, engine="updn", has_roots=True, priority=2)
    lines = dict(line.split(" ", 1) for line in text.splitlines())
    assert lines["routing_engine"] == "updn,no_fallback"
    assert lines["root_guid_file"] == str(tmp_path / "roots")
    assert all(value.startswith(str(tmp_path)) for value in lines.values() if value.startswith("/"))
    assert "root_guid_file" not in render_configuration(manager, engine="nue", has_roots=False)


def test_roots_are_one_guid_a_line() -> None:
    assert render_roots([1, 0x2006E6C00000150]) == "0x0000000000000001\n0x02006e6c00000150\n"


def test_an_engine_that_opensm_lacks_is_refused_before_it_falls_back() -> None:
    assert [check_engine(name) for name in ENGINES] == list(ENGINES)
    with pytest.raises(SpecError, match="no engine 'ar_ftree'; it has minhop"):
        check_engine("ar_ftree")
