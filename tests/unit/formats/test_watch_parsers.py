"""What programs really printed: NCCL 2.28.9 and PyTorch 2.11 on an H200, PyTorch 2.13's gloo,
infiniband-diags 44 on ibsim, FRR 8.4.4, iproute2 6.1, node_exporter 1.5, lldpd.

The nccl-tests outputs are written after its printer (nccl-tests, src/util.cu).
"""

from __future__ import annotations

import json
import pickle
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from netloom.app.watch.hosts import Adapters
from netloom.app.watch.infiniband import ManagerLog, SubnetCounters, Vantage
from netloom.drivers import ibdiags, kernel, prometheus
from netloom.drivers import ibdiags as counters_ibdiags
from netloom.errors import LabError, SpecError
from netloom.formats.benchmarks import nccl_tests
from netloom.formats.frr import bfd as bfd_format
from netloom.formats.frr import state as frr_state
from netloom.formats.inventory import lldp
from netloom.formats.nccl import log as nccl_log
from netloom.formats.prometheus import exposition
from netloom.formats.traces import flight_recorder, step_times
from netloom.ops.observe.naming import Naming

if TYPE_CHECKING:
    from netloom.ops.observe.observation import Reading

RECORDED = Path(__file__).parents[2] / "data" / "watch"


def text_of(name: str) -> str:
    return (RECORDED / name).read_text(encoding="utf-8")


def test_node_exporter_is_read_whole() -> None:
    said = exposition.parse_exposition(text_of("node_exporter.prom"))
    assert said.num_odd == 0
    (sent,) = (
        s for s in said.samples if s.name == "node_infiniband_port_data_transmitted_bytes_total"
    )
    assert (sent.labels, sent.value) == ({"device": "mlx5_0", "port": "1"}, 28.0)


def test_an_exposition_has_escapes_times_and_special_values() -> None:
    lines = [
        "# HELP a words",
        'a{x="q\\"\\\\\\n{}",y="z",} 1e3 1395066363000',
        "b NaN",
        "c{} -Inf",
        "d 0x10",
        'e{x="1",x="2"} 3',
        "f{x=1} 3",
    ]
    said = exposition.parse_exposition("\n".join(lines))
    first, second, third = said.samples
    assert first.labels == {"x": 'q"\\\n{}', "y": "z"}
    assert (first.value, first.time_s) == (1000.0, 1395066363.0)
    assert second.value != second.value
    assert third.value == float("-inf")
    assert said.num_odd == 3


def test_what_is_no_exposition_at_all_is_refused() -> None:
    with pytest.raises(LabError, match="not Prometheus"):
        exposition.parse_exposition("<html><body>502 Bad Gateway</body></html>")


@pytest.mark.parametrize("url", ["file:///etc/passwd", "ftp://host/x", "host:9100", "http://", "["])
def test_only_http_is_scraped(url: str) -> None:
    with pytest.raises(SpecError, match="--scrape"):
        prometheus.check_url(url)


def test_nccl_tests_tell_the_same_in_both_forms() -> None:
    text = list(nccl_tests.parse(text_of("all_reduce.txt")).timings)
    assert len(text) == 4
    first = text[0]
    assert (first.size_bytes, first.dtype, first.in_place) == (1048576, "float", False)
    # 61.20 us and 17.13 GB/s of bus bandwidth.
    assert first.time_s == pytest.approx(61.2e-6)
    assert first.bus_bps == pytest.approx(17.13e9 * 8)
    written = list(nccl_tests.parse(text_of("all_reduce.json")).timings)
    assert [row.collective for row in written] == ["all_reduce", "all_reduce"]
    assert written[1].in_place
    assert written[0].bus_bps == first.bus_bps


def test_more_columns_of_newer_nccl_tests_do_not_mislead() -> None:
    head = "#  size count type redop root time i_min i_max algbw busbw #wrong "
    head += "time i_min i_max algbw busbw #wrong"
    row = "1024 256 float sum -1 10.0 9.0 11.0 0.1 0.2 0 20.0 19.0 21.0 0.05 0.4 N/A"
    start = "# nccl-tests version 2.20.0\n# Collective test starting: alltoall_perf\n"
    (test,) = nccl_tests.parse(f"{start}{head}\n{row}\n").tests
    out, inside = test.timings
    assert (test.called, out.collective) == ("alltoall", "all_to_all")
    assert (out.bus_bps, out.num_wrong) == (1.6e9, 0)
    assert (inside.bus_bps, inside.num_wrong) == (3.2e9, None)
    assert [out.time_s, inside.time_s] == pytest.approx([10e-6, 20e-6])


def test_a_log_of_nccl_says_who_ran_where() -> None:
    log = nccl_log.parse_log(text_of("nccl_info.log.txt"))
    assert (log.version, log.network) == ("2.28.9+cuda13.0", "Socket")
    assert [(r.rank, r.num_ranks, r.host, r.gpu) for r in log.ranks] == [(0, 1, "node1", 0)]
    assert (log.num_inits, log.num_inits_complete, log.warnings) == (1, 1, ())


def test_a_warning_of_nccl_has_its_time_and_host() -> None:
    (warning,) = nccl_log.parse_log(text_of("nccl_warn.log.txt")).warnings
    assert warning.text.startswith("Duplicate GPU detected : rank 0 and rank 1")
    assert (warning.host, warning.peer) == ("node1", "")
    assert warning.time_s == 1794726144.0  # 2026-11-15 07:02:24 UTC


@pytest.mark.parametrize(
    "line",
    [
        # Three generations of the same message: NCCL 2.14, 2.2x and 2.28.
        (
            "n2:5776:5902 [0] transport/net_ib.cc:1296 NCCL WARN NET/IB : Got completion from peer "
            "10.2.0.5<33092> with error 12, opcode 0, len 0, vendor err 129 (Recv) hca mlx5_1"
        ),
        (
            "n2:1:2 [1] transport/net_ib.cc:2453 NCCL WARN NET/IB: Got completion from peer "
            "10.2.0.5<5> with status=12 opcode=3 len=3 vendor err 81 (Send) hca mlx5_1"
        ),
        (
            "[2026-09-09 10:46:33] n2:3:4 [1] transport/net_ib/p2p.cc:648 NCCL WARN NET/IB: Got "
            "completion from peer 10.2.0.5<40554> with status=IBV_WC_RETRY_EXC_ERR(12) "
            "opcode=IBV_WC_RECV_RDMA_WITH_IMM(129) vendor_err=129 localGid ::1 hca mlx5_1"
        ),
    ],
)
def test_a_completion_error_names_peer_and_adapter(line: str) -> None:
    (warning,) = nccl_log.parse_log(line).warnings
    assert (warning.host, warning.peer, warning.adapter) == ("n2", "10.2.0.5", "mlx5_1")
    assert warning.status.startswith("retries exhausted")


@pytest.mark.parametrize("name", ["fr_nccl_0.json", "fr_nccl_0.pickle"])
def test_a_dump_is_the_same_as_json_and_as_pickle(name: str) -> None:
    dump = flight_recorder.parse_dump((RECORDED / name).read_bytes())
    assert [one.name for one in dump.operations] == ["nccl:all_reduce"] * 3 + ["nccl:all_gather"]
    assert dump.groups["0"] == flight_recorder.GroupProgress(enqueued=4, completed=4)
    assert dump.operations[3].created_s == pytest.approx(1794726135.273609474)


def test_the_rank_that_did_not_call_a_collective_is_named() -> None:
    dumps = {
        rank: flight_recorder.parse_dump((RECORDED / f"fr_gloo_{rank}.json").read_bytes())
        for rank in range(3)
    }
    # Ranks 0 and 2 called a fourth all-reduce; rank 1 did not.
    assert dumps[0].groups["0"] == flight_recorder.GroupProgress(enqueued=4, completed=3)
    (laggard,) = flight_recorder.lagging(dumps)
    assert (laggard.rank, laggard.sequence, laggard.name) == (1, 4, "gloo:all_reduce")
    assert laggard.num_waiting == 2


def test_a_pickle_that_names_anything_is_not_run() -> None:
    class Evil:
        def __reduce__(self) -> tuple[object, tuple[str]]:
            return Path.touch, ("/nowhere",)

    with pytest.raises(LabError, match="no flight-recorder dump"):
        flight_recorder.parse_dump(pickle.dumps({"version": "2.5", "entries": [Evil()]}))


def test_the_log_of_a_manager_tells_states_errors_and_fall_backs(tmp_path: Path) -> None:
    recorded = (RECORDED.parent / "lab" / "opensm.log.txt").read_text(encoding="utf-8")
    path = tmp_path / "opensm.log"
    path.write_text(recorded, encoding="utf-8")
    log = ManagerLog(source="log", path=path, part="opensm-0.0", engine="updn")
    first = log.read(5.0, "")
    states = [event.text.rpartition("Entering ")[2] for event in first.events]
    assert states == ["DISCOVERING state", "MASTER state"]
    with path.open("a", encoding="utf-8") as file:
        file.write("Nov 15 07:00:00 1 [A] 0x02 -> x: minhop tables configured on all switches\n")
        file.write("Nov 15 07:00:00 1 [A] 0x01 -> perf: ERR 5431: SymbolErrorCounter : 1234\n")
    second = log.read(6.0, first.cursor)
    assert [event.kind for event in second.events] == ["sm-fallback", "sm-error"]
    assert len({event.key for event in (*first.events, *second.events)}) == 4


@pytest.mark.parametrize(
    ("name", "rank"), [("nccl_trace_rank_12", 12), ("dump_3.json", 3), ("readme.txt", None)]
)
def test_a_dump_is_named_after_its_rank(name: str, rank: int | None) -> None:
    assert flight_recorder.rank_of(name) == rank


def test_step_times_come_as_json_lines_and_as_csv() -> None:
    text = '{"step": 1, "step_s": 2.5, "rank": 3, "time_s": 100}\n{"step": 2}\nnot json\n'
    found = step_times.parse_step_times(text)
    assert [(r.step, r.rank, r.step_s, r.time_s) for r in found.rows] == [(1, 3, 2.5, 100.0)]
    assert found.num_odd == 2  # one without a duration, one that is nothing
    found = step_times.parse_step_times("step,loss,step_s\n7,2.1,1.5\n8,2.0,nan\n")
    assert [(r.step, r.rank, r.step_s, r.time_s) for r in found.rows] == [(7, 0, 1.5, None)]
    assert (found.num_odd, found.heading) == (1, "step,loss,step_s")


def test_a_route_by_a_next_hop_group_has_the_ways_of_its_members() -> None:
    (route,) = (
        r for r in frr_state.parse_fib(text_of("ip_route_nhid.json")) if "10.50" in r.prefix
    )
    assert route.interfaces == ("v0", "v1")


def test_bfd_sessions_say_how_fast_they_notice() -> None:
    sessions = bfd_format.parse_sessions(text_of("show_bfd_peers.json"))
    assert [(s.interface, s.is_up) for s in sessions] == [("swp3", True), ("swp4", True)]
    assert sessions[0].detection_s == pytest.approx(0.9)  # 3 times 300 ms
    assert sessions[0].own_detection_s == pytest.approx(0.9)


def test_a_multiplier_of_one_end_is_told_at_that_end() -> None:
    # FRR 8.4.4 after "detect-multiplier 50" in the profile of this end.
    row = {"peer": "fe80::1", "interface": "swp8", "status": "up", "detect-multiplier": 50}
    row |= {"receive-interval": 300, "transmit-interval": 300, "remote-detect-multiplier": 3}
    (one,) = bfd_format.parse_sessions(json.dumps([row | {"remote-transmit-interval": 300}]))
    assert one.own_detection_s == pytest.approx(15.0)
    assert one.detection_s == pytest.approx(0.9)


def test_every_port_counts_and_errors_are_zero_unless_named(tmp_path: Path) -> None:
    def run(*argv: str) -> str:
        return text_of(f"ibqueryerrors_{'counters' if '--counters' in argv else 'errors'}.txt")

    ports = {(p.name, p.port): p.counters for p in counters_ibdiags.port_counters(run, tmp_path)}
    assert len(ports) == 64  # 32 cables
    assert ports["leaf:0", 7]["SymbolErrorCounter"] == 77
    assert ports["leaf:0", 6]["SymbolErrorCounter"] == 0
    assert ports["nic:15", 1]["PortXmitData"] > 0


def test_a_counter_that_stands_at_its_largest_value_is_told_once(tmp_path: Path) -> None:
    @dataclass(frozen=True)
    class Fake(ibdiags.Client):
        errors: str

        def run(self, *argv: str) -> str:
            return text_of("ibqueryerrors_counters.txt") if "--counters" in argv else self.errors

    def look(count: int, cursor: str) -> Reading:
        errors = text_of("ibqueryerrors_errors.txt").replace(
            "SymbolErrorCounter == 77", f"SymbolErrorCounter == {count}"
        )
        client = Fake(env={}, folder=tmp_path, errors=errors)
        vantage = Vantage(clients=(client,), num_devices=21)
        return SubnetCounters(source="c", vantage=vantage, naming=Naming()).read(5.0, cursor)

    assert not look(65_534, "").events
    first = look(65_535, "")
    assert {(e.part, e.kind) for e in first.events} >= {("leaf:0[7]", "counter-full")}
    assert not look(65_535, first.cursor).events


def test_a_place_that_is_cut_off_is_left_for_one_that_sees_more(tmp_path: Path) -> None:
    whole = (RECORDED.parent / "lab" / "iblinkinfo_l.txt").read_text(encoding="utf-8")
    own = next(line for line in whole.splitlines() if '"                         nic:1"' in line)

    @dataclass(frozen=True)
    class Fake(ibdiags.Client):
        text: str

        def run(self, *argv: str) -> str:
            if not self.text:
                message = "no answer"
                raise LabError(message)
            return self.text

    def vantage(*texts: str) -> Vantage:
        clients = tuple(Fake(env={}, folder=tmp_path, text=text) for text in texts)
        return Vantage(clients=clients, num_devices=21)

    looked = vantage("", own, whole)
    assert len(looked.links()) == 336
    assert looked.client is looked.clients[2]
    alone = vantage("", own)
    assert not alone.sees_most(alone.links())
    with pytest.raises(LabError, match="no answer"):
        vantage("").links()


def test_lldp_calls_a_port_by_its_name() -> None:
    neighbours = lldp.parse_neighbours(text_of("lldp_json0.json"))
    assert [(n.interface, n.device) for n in neighbours] == [("eth0", "leaf01")]


def test_adapters_are_read_from_sysfs(tmp_path: Path) -> None:
    port = tmp_path / "class" / "infiniband" / "mlx5_0" / "ports" / "1"
    (port / "counters").mkdir(parents=True)
    (port / "hw_counters").mkdir()
    (port / "state").write_text("4: ACTIVE\n", encoding="ascii")
    (port / "rate").write_text("400 Gb/sec (4X NDR)\n", encoding="ascii")
    (port / "counters" / "symbol_error").write_text("7\n", encoding="ascii")
    (port / "counters" / "broken").write_text("N/A (no PMA)\n", encoding="ascii")
    (port / "hw_counters" / "out_of_sequence").write_text("3\n", encoding="ascii")
    (found,) = kernel.read_adapters(tmp_path)
    assert (found.device, found.port, found.is_active) == ("mlx5_0", 1, True)
    assert found.rate_bps == 400e9
    assert found.counters == {"symbol_error": 7, "out_of_sequence": 3}
    reading = Adapters(root=tmp_path, host="n1", names={"n1/mlx5_0[1]": "nic:0[1]"}).read(5.0, "")
    assert {o.metric: o.value for o in reading.observations} == {
        "link_up": 1.0,
        "rate_bps": 400e9,
        "symbol_errors": 7.0,
        "hw_out_of_sequence": 3.0,
    }
    assert {o.part for o in reading.observations} == {"nic:0[1]"}
    with pytest.raises(LabError, match="no RDMA adapter"):
        Adapters(root=tmp_path / "absent", host="n1", names={}).read(5.0, "")
