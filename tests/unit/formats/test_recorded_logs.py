"""What people posted of measuring programs and NCCL, one folder a situation.

``expected.json`` is written by hand from the text beside it and names where that was posted.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from netloom.formats.benchmarks import iperf3, nccl_tests, osu, perftest, sockperf
from netloom.formats.nccl.setup import parse_setup

RECORDED = Path(__file__).parents[2] / "data" / "recorded"
POINTS = {"perftest": perftest.parse, "sockperf": sockperf.parse, "iperf3": iperf3.parse}


def situations(tool: str) -> list[str]:
    found = sorted(path.name for path in (RECORDED / tool).iterdir())
    assert found, tool
    return found


def recorded(tool: str, name: str) -> tuple[str, dict[str, Any]]:
    folder = RECORDED / tool / name
    text = (folder / "input.txt").read_text(encoding="utf-8")
    expected = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
    assert expected["source"]
    return text, expected


def assert_has(one: object, fields: dict[str, Any]) -> None:
    for key, value in fields.items():
        have = getattr(one, key)
        # Rates are printed with three digits or more.
        assert have == (pytest.approx(value, rel=1e-6) if isinstance(value, float) else value), key


@pytest.mark.parametrize("name", situations("nccl_tests"))
def test_a_table_of_nccl_tests_is_read_as_posted(name: str) -> None:
    text, expected = recorded("nccl_tests", name)
    log = nccl_tests.parse(text)
    assert len(log.tests) == len(expected["tests"])
    for test, fields in zip(log.tests, expected["tests"], strict=True):
        assert_has(test, fields)
    timings = list(log.timings)
    assert len(timings) == expected["num_timings"]
    for index, size, in_place, time_us, algorithm, bus, wrong in expected["rows"]:
        one = timings[index]
        assert (one.size_bytes, one.in_place, one.num_wrong) == (size, in_place, wrong)
        assert one.time_s == pytest.approx(time_us * 1e-6)
        assert (one.algorithm_bps, one.bus_bps) == pytest.approx((algorithm * 8e9, bus * 8e9))
    assert [[t.size_bytes, t.in_place] for t in timings if t.dip] == expected["dips"]
    assert log.bad.num == expected["num_bad"], str(log.bad)
    assert expected.get("why", "") in str(log.bad)


@pytest.mark.parametrize(("tool", "name"), [(t, n) for t in POINTS for n in situations(t)])
def test_measurements_of_two_ends_are_read_as_posted(tool: str, name: str) -> None:
    text, expected = recorded(tool, name)
    log = POINTS[tool](text)
    assert len(log.rows) == len(expected["rows"])
    for row, fields in zip(log.rows, expected["rows"], strict=True):
        assert_has(row, fields)
    assert log.bad.num == expected["num_bad"], str(log.bad)


@pytest.mark.parametrize("name", situations("osu"))
def test_osu_micro_benchmarks_are_read_as_posted(name: str) -> None:
    text, expected = recorded("osu", name)
    log = osu.parse(text)
    for have, want in ((log.points, expected["rows"]), (log.collectives, expected["collectives"])):
        assert len(have) == len(want)
        for row, fields in zip(have, want, strict=True):
            assert_has(row, fields)
    assert log.bad.num == expected["num_bad"], str(log.bad)


@pytest.mark.parametrize("name", situations("nccl_log"))
def test_a_log_of_nccl_tells_its_setup(name: str) -> None:
    text, expected = recorded("nccl_log", name)
    setup = parse_setup(text)
    rings = expected["setup"].pop("rings", None)
    assert_has(setup, expected["setup"])
    assert rings is None or [list(one) for one in setup.rings] == rings
    hosts = {host.name: host for host in setup.hosts}
    for host, names in expected.get("adapters", {}).items():
        assert [one.name for one in hosts[host].adapters] == names
        assert {one.link for one in hosts[host].adapters} == {expected.get("link", "")}
    for host, (direct, bounced, used) in expected.get("connections", {}).items():
        one = hosts[host]
        assert (one.num_direct, one.num_bounced) == (direct, bounced)
        assert list(one.adapters_used) == used
    if "channels" in expected:
        assert_has(setup.channels, expected["channels"])
    assert setup.bad.num == 0, str(setup.bad)


@pytest.mark.parametrize("name", situations("nccl_log"))
def test_the_tuner_is_read_with_its_choices_and_what_it_expects(name: str) -> None:
    text, expected = recorded("nccl_log", name)
    setup = parse_setup(text)
    choices = [
        [c.collective, c.size_bytes, c.algorithm, c.protocol, c.num_channels, c.expected_s]
        for c in setup.choices
    ]
    want = expected.get("choices", [])
    assert [one[:5] for one in choices] == [one[:5] for one in want]
    assert [one[5] for one in choices] == pytest.approx([one[5] for one in want])
    estimates = expected.get("estimates", [])
    assert [[e.collective, e.algorithm, e.protocol] for e in setup.estimates] == [
        one[:3] for one in estimates
    ]
    for have, (*_, latency_s, rate_bps) in zip(setup.estimates, estimates, strict=True):
        assert (have.latency_s, have.algorithm_bps) == pytest.approx((latency_s, rate_bps))
