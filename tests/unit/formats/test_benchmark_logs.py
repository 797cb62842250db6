"""Readers of measuring programs: forms that were not posted, and hostile ones."""

from __future__ import annotations

import io
import json

import pytest

from netloom.errors import LabError
from netloom.formats.benchmarks import iperf3, nccl_tests, osu, perftest, sockperf
from netloom.formats.log_lines import MAX_ROWS, clean_lines, number, whole_number
from netloom.formats.register import FORMATS, formats_of

START = (
    "# nThread 1 nGpus 1 minBytes 8 maxBytes 64 step: 2(factor) warmup iters: 5 iters: 20 "
    "agg iters: 1 validation: 1 graph: 0"
)
RANKS = """\
#  Rank  0 Group  0 Pid   11 on      node0 device  0 [0x18] NVIDIA H100 80GB HBM3
#  Rank  1 Group  0 Pid   12 on      node1 device  0 [0x18] NVIDIA H100 80GB HBM3"""
HEADING = (
    "#       size         count      type   redop    root     time   algbw   busbw #wrong"
    "     time   algbw   busbw #wrong"
)
# 1 MiB in 61.20 us are 17.13 GB/s.
ROW = (
    "     1048576        262144     float     sum      -1    61.20   17.13   17.13      0"
    "    60.90   17.22   17.22      0"
)
TABLE = f"{START}\n{RANKS}\n{HEADING}\n{ROW}\n# Avg bus bandwidth    : 17.175\n"


def test_several_tests_in_one_log_are_kept_apart() -> None:
    second = TABLE.replace("node1", "node0")
    text = f"$ ./all_reduce_perf -b 1M\n{TABLE}$ ./alltoall_perf -b 1M\n{second}"
    log = nccl_tests.parse(text)
    assert [test.collective for test in log.tests] == ["all_reduce", "all_to_all"]
    assert [test.num_nodes for test in log.tests] == [2, 1]
    assert [test.settings.warmup_iterations for test in log.tests] == [5, 5]
    assert [test.settings.iterations for test in log.tests] == [20, 20]
    assert not log.bad


@pytest.mark.parametrize(
    "tagged",
    [
        "[1,0]<stdout>:{}",
        "[prterun-node0-77@1,0]<stdout>: {}",
        "Mon Jan  5 10:11:12 2026[1,0]<stdout>:{}",
        "0: {}",
        " 0: {}",
        "[0] {}",
        "2025-05-16T16:39:51.208-07:00 {}",
        "\x1b[1;32m{}\x1b[0m",
        "{}\r",
        "waiting ...\r{}",
    ],
)
def test_what_launchers_and_terminals_add_is_taken_off(tagged: str) -> None:
    plain = nccl_tests.parse(TABLE)
    wrapped = "\n".join(tagged.format(line) for line in TABLE.splitlines())
    assert nccl_tests.parse(wrapped) == plain


def test_tables_of_two_ranks_that_print_at_once_are_told_apart() -> None:
    lines = [f"[1,{rank}]<stdout>:{line}" for line in TABLE.splitlines() for rank in (0, 1)]
    log = nccl_tests.parse("\n".join(lines))
    assert [len(test.timings) for test in log.tests] == [2, 2]
    assert not log.bad


def test_a_host_that_stands_next_to_the_last_cell_is_cut_off() -> None:
    head, first, second = ROW[:52], ROW[52:84], ROW[84:]
    logged = "7node:11:12 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[0] [send] via NET/IB/0"
    text = f"{HEADING}\n{head}{logged}\n{logged}\n{first}{logged}\n{second}\n"
    out, inside = nccl_tests.parse(text).timings
    assert (out.time_s, inside.time_s) == pytest.approx((61.2e-6, 60.9e-6))
    assert (out.num_wrong, inside.num_wrong) == (0, 0)


def test_a_log_that_ends_in_a_row_keeps_the_half_before() -> None:
    log = nccl_tests.parse(TABLE[: TABLE.index("60.90") + 14])
    (out,) = log.timings
    assert out.time_s == pytest.approx(61.2e-6)
    assert log.tests[0].average_bus_bps is None
    assert [(one.line, one.why) for one in log.bad.first] == [(5, "cut after 11 of 13 cells")]


def test_a_row_that_contradicts_itself_is_named() -> None:
    # A digit is lost: 1 MiB in 6.20 us would be 169 GB/s.
    log = nccl_tests.parse(f"{HEADING}\n{ROW.replace(' 61.20', '  6.20')}\n")
    assert [one.in_place for one in log.timings] == [True]
    assert "are not the 17.13 GB/s" in str(log.bad)


def test_an_average_that_is_not_of_the_rows_is_named() -> None:
    log = nccl_tests.parse(TABLE.replace("17.175", "139.56"))
    assert "rows are missing" in str(log.bad)


@pytest.mark.parametrize(
    ("factor", "redop", "root", "collective"),
    [
        (1.75, "sum", "-1", "all_reduce"),
        (0.875, "sum", "-1", "reduce_scatter"),
        (0.875, "none", "-1", ""),  # all-gather and all-to-all look alike
        (1.0, "sum", "0", "reduce"),
        (1.0, "none", "0", "broadcast"),
        (1.0, "sum", "-1", "send_recv"),
        (1.5, "sum", "-1", ""),
    ],
)
def test_a_collective_without_a_name_is_known_by_its_rates(
    factor: float, redop: str, root: str, collective: str
) -> None:
    ranks = "\n".join(RANKS.splitlines()[0].replace("Rank  0", f"Rank  {r}") for r in range(8))
    half = f"61.20 17.13 {17.13 * factor:.2f} 0"
    text = f"{ranks}\n{HEADING}\n1048576 262144 float {redop} {root} {half} {half}\n"
    (test,) = nccl_tests.parse(text).tests
    assert (test.called, test.collective) == ("", collective)
    assert {one.collective for one in test.timings} == {collective}


def test_two_ranks_do_not_tell_an_all_reduce_from_a_message() -> None:
    (test,) = nccl_tests.parse(TABLE).tests
    assert (test.num_ranks, test.collective) == (2, "")


def test_wrong_values_are_kept_with_their_row() -> None:
    log = nccl_tests.parse(f"{HEADING}\n{ROW.replace('     0    60', '    12    60')}\n")
    assert [one.num_wrong for one in log.timings] == [12, 0]


def test_commas_of_a_locale_are_understood() -> None:
    row = ROW.replace("1048576", "1,048,576").replace(".", ",")
    out, _ = nccl_tests.parse(f"{HEADING}\n{row}\n").timings
    assert out.size_bytes == 1048576
    assert out.time_s == pytest.approx(61.2e-6)


@pytest.mark.parametrize(
    ("word", "decimals", "value"),
    [
        ("1,234.5", 2, 1234.5),
        ("1,234", 2, 1234.0),
        ("7,946", 3, 7.946),
        ("1,234,567", 3, 1234567.0),
        ("61,20", 2, 61.2),
        ("nan", 2, None),
        ("inf", 2, None),
        ("-1", 2, None),
        ("1_0", 2, None),
        ("1,2,3", 2, None),
        ("", 2, None),
    ],
)
def test_numbers_are_read_as_programs_print_them(
    word: str, decimals: int, value: float | None
) -> None:
    assert number(word, decimals=decimals) == value


def test_a_size_is_a_whole_number_of_some_digits() -> None:
    words = ("1,024", "12", "9" * 400, "-1", "\u0661")
    assert [whole_number(word) for word in words] == [1024, 12, None, None, None]


def test_an_open_file_is_read_as_its_text() -> None:
    assert nccl_tests.parse(io.StringIO("\n" + TABLE)) == nccl_tests.parse("\n" + TABLE)


def test_a_line_of_an_open_file_is_read_to_its_bound_and_the_next_is_whole() -> None:
    text = f"\n{'x' * 9000}\n{'y' * 4000}\n{TABLE}"
    lines = [line for _, _, line in clean_lines(io.StringIO(text))]
    assert lines[:4] == ["", "x" * 4000, "y" * 4000, START]
    assert nccl_tests.parse(io.StringIO(text)) == nccl_tests.parse(text)


def test_rows_beyond_the_bound_are_counted_not_kept() -> None:
    lines = (line for line in [HEADING, *[ROW] * (MAX_ROWS // 2 + 2)])
    log = nccl_tests.parse(lines)
    assert sum(1 for _ in log.timings) == MAX_ROWS
    assert log.bad.num == 4


RCCL = {
    "numCycle": 0,
    "name": "AllReduce",
    "nodes": 2,
    "ranks": 16,
    "ranksPerNode": 8,
    "gpusPerRank": 1,
    "size": 1048576,
    "type": "float",
    "redop": "sum",
    "inPlace": 0,
    "time": 61.2,
    "algBw": 17.133595,
    "busBw": 32.125490,
    "wrong": "0",
}


def test_the_files_of_rccl_tests_tell_the_same() -> None:
    in_json = nccl_tests.parse(json.dumps([RCCL, RCCL | {"inPlace": 1, "wrong": "N/A"}]))
    names = "numCycle,collective,nodes,ranks,ranksPerNode,gpusPerRank,size,type,redop,inplace"
    head = f"{names},time,algbw,busbw,#wrong"
    row = "0,AllReduce,2,16,8,1,1048576,float,sum,{},61.200000,17.133595,32.125490,{}"
    in_csv = nccl_tests.parse(f"{head}\n{row.format(0, 0)}\n{row.format(1, 'N/A')}\n")
    (test,) = in_json.tests
    assert (test.program, test.called, test.num_ranks, test.num_nodes) == (
        "rccl-tests",
        "all_reduce",
        16,
        2,
    )
    for log in (in_json, in_csv):
        assert [(t.in_place, t.num_wrong) for t in log.timings] == [(False, 0), (True, None)]
        assert [t.bus_bps for t in log.timings] == pytest.approx([32.12549 * 8e9] * 2)


def test_a_heading_without_the_nodes_that_its_rows_have_is_understood() -> None:
    head = "numCycle,collective,ranks,rankspernode,gpusperrank,size,type,redop,inplace,time,algbw"
    row = "0,AllReduce,2,16,8,1,1048576,float,sum,0,61.2,17.13,32.12,0"
    (test,) = nccl_tests.parse(f"{head},busbw,#wrong\n{row}\n").tests
    assert (test.num_nodes, test.num_ranks) == (2, 16)


def test_a_device_whose_rank_is_no_number_is_told_and_the_results_stay() -> None:
    half = {"time": 61.2, "alg_bw": 17.13, "bus_bw": 17.13, "nwrong": 0.0}
    result = {"size": 1048576, "type": "float", "redop": "sum", "out_of_place": half}
    device = {"rank": float("inf"), "hostname": "node0", "device": 0, "device_info": "H100"}
    whole = {"args": ["all_gather_perf"], "config": {"devices": [device]}, "results": [result]}
    log = nccl_tests.parse(json.dumps(whole))
    assert len(log.tests[0].timings) == 1
    assert "a device without rank and host" in str(log.bad)


@pytest.mark.parametrize("cut", [40, 10])
def test_json_that_is_cut_keeps_the_results_before(cut: int) -> None:
    half = {"time": 61.2, "alg_bw": 17.13, "bus_bw": 17.13, "nwrong": 0.0}
    result = {"size": 1048576, "type": "float", "redop": "sum", "out_of_place": half}
    device = {"rank": 0, "hostname": "node0", "device": 0, "device_info": "H100"}
    whole = {
        "args": ["/opt/all_gather_perf"],
        "config": {"devices": [device]},
        "results": [result, result, result],
    }
    log = nccl_tests.parse(json.dumps(whole)[:-cut])
    (test,) = log.tests
    assert (test.collective, test.num_ranks, len(test.timings)) == ("all_gather", 1, 2)
    assert "2 results stand before the cut" in str(log.bad)


@pytest.mark.parametrize(
    ("unit", "worth"),
    [("Gb/sec", 1e9), ("MB/sec", 2**23), ("MiB/sec", 2**23), ("GiB/sec", 2**33), ("GB/sec", 8e9)],
)
def test_units_of_perftest_stand_in_its_heading(unit: str, worth: float) -> None:
    head = f" #bytes     #iterations    BW peak[{unit}]    BW average[{unit}]   MsgRate[Mpps]"
    messages = 90 * worth / 8 / 65536 / 1e6
    (row,) = perftest.parse(f"{head}\n 65536 5000 95.00 90.00 {messages:.6f}\n").rows
    assert row.rate_bps == pytest.approx(90 * worth)


@pytest.mark.parametrize(
    ("row", "why"),
    [
        # perftest leaves no blank after a deviation of seven characters.
        (" 2 1000 453.06 37330.73 692.41 928.05 2465.901216.65 37330.73", "8 cells under 9"),
        (" 2 1000 0.00 0.00 0.00 0.00 0.00 0.00 0.00", "neither a latency nor a rate"),
        (" 2 1000 -1.00 4.00 -2.00 -3.00 0.00 0.00 0.00", "neither a latency nor a rate"),
    ],
)
def test_a_bad_row_of_perftest_is_named(row: str, why: str) -> None:
    head = " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]"
    head += "    t_stdev[usec]   99% percentile[usec]   99.9% percentile[usec]"
    log = perftest.parse(f"Send Latency Test\n{head}\n{row}\n")
    assert not log.rows
    assert [(one.line, why in one.why) for one in log.bad.first] == [(3, True)]


def test_a_rate_that_is_not_its_messages_is_named() -> None:
    head = " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]"
    log = perftest.parse(f"{head}\n 65536 5000 95.00 90.00 0.017166\n")
    assert "message rate" in str(log.bad)


def test_a_latency_test_by_duration_has_a_mean_alone() -> None:
    text = "RDMA_Write Latency Test\n #bytes        #iterations       t_avg[usec]  \n 8 100 1.50\n"
    (row,) = perftest.parse(text).rows
    assert row.program == "ib_write_lat"
    assert row.latency_s == pytest.approx(1.5e-6)


def test_gpu_memory_is_that_of_the_test_it_is_said_before() -> None:
    table = (
        " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n"
        " 65536 5000 0.00 733.92 1.399841\n"
    )
    text = (
        f"                    RDMA_Write BW Test\n{table}"
        f"initializing CUDA\n                    RDMA_Write Bidirectional BW Test\n{table}"
        f"                    RDMA_Write BW Test\n{table}"
    )
    rows = perftest.parse(text).rows
    assert [row.gpu_memory for row in rows] == [False, True, False]
    assert [row.bidirectional for row in rows] == [False, True, False]


def test_osu_counts_some_collectives_by_rank() -> None:
    text = (
        "$ mpirun -np 16 ./osu_alltoall\n"
        "# OSU MPI All-to-All Personalized Exchange Latency Test v7.0\n"
        "# Size       Avg Latency(us)\n1024  50.00\n\n"
        "# OSU MPI Broadcast Latency Test v7.0\n# Size       Avg Latency(us)\n1024  20.00\n"
    )
    to_all, broadcast = osu.parse(text).collectives
    assert (to_all.collective, broadcast.collective) == ("all_to_all", "broadcast")
    # What one rank sends in all: 16 messages of 1024 bytes.
    assert osu.nccl_size_bytes(to_all, to_all.num_ranks) == 16384
    assert osu.nccl_size_bytes(broadcast, 16) == 1024


def test_several_pairs_of_osu_have_their_message_rate() -> None:
    text = (
        "# OSU MPI Multiple Bandwidth / Message Rate Test v7.0\n"
        "# [ pairs: 4 ] [ window size: 64 ]\n"
        "# Size                  MB/s        Messages/s\n8   80.00   10000000.00\n8  80.00\n"
    )
    log = osu.parse(text)
    (row,) = log.points
    assert (row.program, row.num_streams, row.message_rate) == ("osu_mbw_mr", 4, 1e7)
    assert [(one.line, one.why) for one in log.bad.first] == [(5, "2 cells under 3 columns")]


@pytest.mark.parametrize(
    ("said", "mebi_bytes"),
    [
        ("2728.271 MBps (21826.172 Mbps)", 2728.271),
        ("2.728 GBps (21.826 Gbps)", 2728.0),
        ("2728.271484375 GBps (21826.171875000 Gbps)", 2728.271484375),
    ],
)
def test_sockperf_prints_one_rate_in_three_ways(said: str, mebi_bytes: float) -> None:
    (row,) = sockperf.parse(f"sockperf: Summary: BandWidth is {said}\n").rows
    assert row.rate_bps == pytest.approx(mebi_bytes * 8 * 2**20)


def test_runs_of_sockperf_are_kept_apart() -> None:
    one = "sockperf: == version #3.10-no.git == \nsockperf: Summary: Latency is {} usec\n"
    one += "sockperf: ---> percentile 50.000 = {}\n"
    rows = sockperf.parse(one.format("5.000", "4.000") + one.format("9.000", "8.000")).rows
    assert [row.latency_s for row in rows] == pytest.approx([4e-6, 8e-6])
    assert [row.latency_mean_s for row in rows] == pytest.approx([5e-6, 9e-6])


IPERF_JSON = {
    "start": {"test_start": {"protocol": "TCP", "num_streams": 4, "blksize": 131072}},
    "intervals": [],
    "end": {"sum_sent": {"bits_per_second": 9.5e10}, "sum_received": {"bits_per_second": 9.4e10}},
}


def test_iperf3_in_json_says_what_was_received() -> None:
    document = json.dumps(IPERF_JSON)
    log = iperf3.parse(f"{document}\n{json.dumps({'error': 'unable to connect'})}\n{document[:-9]}")
    (row,) = log.rows
    assert (row.rate_bps, row.num_streams, row.operation) == (9.4e10, 4, "tcp")
    assert "unable to connect" in str(log.bad)
    assert log.bad.num == 2


def test_streams_of_iperf3_without_a_sum_are_added() -> None:
    line = "[{}]   0.00-10.00  sec  11.0 GBytes  9.41 Gbits/sec  {}   {}"
    text = "Connecting to host 192.0.2.1, port 5201\n" + "\n".join(
        line.format(f"{stream:3d}", 0, whose)
        for stream in (5, 7)
        for whose in ("sender", "receiver")
    )
    (row,) = iperf3.parse(text).rows
    assert row.rate_bps == pytest.approx(2 * 9.41e9)
    assert row.num_streams == 2


def test_a_test_of_iperf3_that_was_killed_is_named() -> None:
    text = "Connecting to host 192.0.2.1, port 5201\n"
    text += "[  5]   0.00-1.00   sec  2.16 GBytes  18.6 Gbits/sec    1    728 KBytes\n"
    log = iperf3.parse(text)
    assert not log.rows
    assert [(one.line, one.why) for one in log.bad.first] == [
        (1, "a test without a summary at its end")
    ]


@pytest.mark.parametrize("name", ["nccl-tests", "perftest", "osu", "sockperf", "iperf3"])
@pytest.mark.parametrize("text", ["", "hello\n", "\x00\xff\ufffd\n", "[]", "[1,0]<stdout>:"])
def test_what_is_none_of_it_is_refused(name: str, text: str) -> None:
    parse = FORMATS.get(name).parse
    assert parse is not None
    with pytest.raises(LabError, match="give what"):
        parse(text)


def test_each_format_knows_its_own_beginning() -> None:
    begins = {
        "nccl-tests": TABLE,
        "perftest": " #bytes     #iterations    BW peak[MB/sec]\n",
        "osu": "# OSU MPI Latency Test v7.0\n",
        "sockperf": "sockperf: == version #3.10-no.git ==\n",
        "iperf3": "[ ID] Interval  Transfer Bitrate\n[  5] 0.00-1.00 sec 1 GBytes 8 Gbits/sec\n",
        "nccl-setup": "n1:1:2 [0] NCCL INFO Bootstrap\n",
    }
    formats = {one.name: one for one in formats_of("measurement")}
    assert set(formats) == set(begins)
    for name, text in begins.items():
        assert [one for one in formats if formats[one].sniff(text)] == [name]


def test_lines_are_numbered_from_one_and_cut_where_they_are_long() -> None:
    lines = list(clean_lines("a\n\n" + "b" * 10_000))
    assert [(count, len(text)) for count, _, text in lines] == [(1, 1), (2, 0), (3, 4000)]
