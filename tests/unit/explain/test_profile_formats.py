"""What profilers and programs write, read; and what is none of it, refused."""

from __future__ import annotations

import gzip
import json
import sqlite3
from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from recorded_runs import LOG, TRACES, nsight_store

from netloom.errors import SpecError
from netloom.formats.profiles.kineto import parse_kineto
from netloom.formats.profiles.megatron_log import is_megatron_log, parse_megatron_log
from netloom.formats.profiles.nsight import parse_nsight
from netloom.study.explain.timeline import TimeSpan, kind_of

if TYPE_CHECKING:
    from pathlib import Path


def test_a_log_gives_the_median_after_two_warm_up_steps_and_its_timers() -> None:
    found = parse_megatron_log(LOG.splitlines())
    assert found.steps_s == (31.0, 9.3, 9.1)
    assert found.step_s == 9.1
    assert found.timers["forward-compute"].max_s == pytest.approx(2.6)
    assert found.timers["batch-generator"].min_s == pytest.approx(0.003)
    assert is_megatron_log(LOG)


def test_a_log_without_an_iteration_is_refused_with_what_it_lacks() -> None:
    with pytest.raises(SpecError, match="elapsed time per iteration"):
        parse_megatron_log(["training ...", "done"])


@pytest.mark.parametrize("time", ["0.0", "1e308", "1e999", "9" * 400, "1.2.3"])
def test_times_that_no_iteration_takes_are_no_iterations(time: str) -> None:
    line = f"iteration 1/ 100 | elapsed time per iteration (ms): {time} |"
    with pytest.raises(SpecError, match="elapsed time per iteration"):
        parse_megatron_log([line])


def test_a_log_of_long_lines_is_read_in_time_that_grows_with_it() -> None:
    lines = ["iteration 1/ " * 100_000] * 20 + [LOG]
    start_s = monotonic()
    assert parse_megatron_log("\n".join(lines)).steps_s == (31.0, 9.3, 9.1)
    assert monotonic() - start_s < 5  # it was minutes


@given(st.text(max_size=300))
def test_any_text_is_a_log_or_refused(text: str) -> None:
    with suppress(SpecError):
        assert parse_megatron_log(text.splitlines()).steps_s


@pytest.mark.parametrize(
    ("kernel", "kind"),
    [
        ("nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_NNT", "products"),
        ("cutlass_80_wmma_tensorop_bf16_s161616gemm", "products"),
        ("cudnn_generated_fort_native_sdpa_sm90_flash_bprop_wgmma_f16", "attention"),
        ("void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<128>>", "attention"),
        ("ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "collective"),
        ("triton_poi_fused_mul_silu_2", "memory-bound"),
        ("void at::native::vectorized_elementwise_kernel<4, FillFunctor<float>>", "memory-bound"),
    ],
)
def test_kernels_are_known_by_their_names(kernel: str, kind: str) -> None:
    assert kind_of(kernel) == kind


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{",
        '{"traceEvents": 3}',
        '{"traceEvents": []}',
        '{"traceEvents": [1, null, {"ph": "X"}]}',
        '{"traceEvents": [{"ph": "X", "cat": "kernel", "name": "k", "ts": "a", "dur": 1}]}',
        '{"traceEvents": [{"ph": "X", "cat": "kernel", "name": "k", "ts": 1, "dur": -1}]}',
        "[" * 100_000,
    ],
)
def test_what_is_no_trace_is_refused_with_a_remedy(text: str) -> None:
    with pytest.raises(SpecError) as caught:
        parse_kineto(text, name="x.json")
    assert "x.json" in str(caught.value)
    assert caught.value.problems[0].remedy


def _nested(inner: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    some = st.dictionaries(st.text(max_size=9), inner, max_size=4)
    return st.lists(inner, max_size=4) | some


ANYTHING = st.recursive(
    st.none() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=9),
    _nested,
    max_leaves=20,
)


@given(ANYTHING)
def test_any_events_are_read_or_refused(value: object) -> None:
    event = {"ph": "X", "cat": "kernel", "name": "ncclKernel_x", "ts": 1.0, "dur": 2.0}
    trace = {"traceEvents": [event | {"args": value}, value], "distributedInfo": value}
    found = parse_kineto(json.dumps(trace))
    assert found.steps == (TimeSpan(1e-6, 3e-6),)


def test_times_and_counts_beyond_reason_are_left_out() -> None:
    def kernel(**keys: object) -> dict[str, object]:
        return {"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce", "ts": 1, **keys}

    args = {"Group size": 10**400, "In msg nelems": 10**400, "dtype": "Float"}
    events = [kernel(ts=10**400, dur=1), kernel(dur=1e300), kernel(dur=2, args=args)]
    found = parse_kineto(json.dumps({"traceEvents": events}))
    assert [one.span for one in found.work] == [TimeSpan(1e-6, 3e-6)]
    assert (found.collectives[0].num_ranks, found.collectives[0].size_bytes) == (0, None)


def test_a_truncated_trace_is_refused() -> None:
    text = gzip.decompress((TRACES / "plain.rank0.json.gz").read_bytes()).decode()
    with pytest.raises(SpecError, match="no JSON"):
        parse_kineto(text[: len(text) // 2])


def test_an_export_of_nsight_systems_gives_steps_kernels_and_collectives(tmp_path: Path) -> None:
    found = parse_nsight(nsight_store(tmp_path / "a.sqlite"))
    assert [one.duration_s for one in found.steps] == pytest.approx([0.01, 0.01])
    assert [one.kind for one in found.work] == ["products", "collective"] * 2
    assert [one.operation for one in found.collectives] == ["all-reduce"] * 2
    assert found.work[0].launched_s == pytest.approx(0.000999)


def test_a_foreign_sqlite_file_is_refused() -> None:
    with pytest.raises(SpecError, match="no kernel"):
        parse_nsight(sqlite3.connect(":memory:"))


def test_an_export_of_several_gpus_is_refused(tmp_path: Path) -> None:
    store = nsight_store(tmp_path / "two.sqlite")
    store.execute("UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET deviceId = 1 WHERE start > 10000000")
    with pytest.raises(SpecError, match="kernels of 2 GPUs"):
        parse_nsight(store)


@pytest.mark.parametrize(("start", "end"), [("x", 5), (5, None), (5, b"0"), (5, 4)])
def test_kernels_without_a_time_are_left_out(tmp_path: Path, start: object, end: object) -> None:
    store = nsight_store(tmp_path / "damaged.sqlite")
    store.execute("UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET start = ?, end = ?", (start, end))
    with pytest.raises(SpecError, match="has no kernel in it"):
        parse_nsight(store)


def test_a_view_in_place_of_a_table_is_not_read(tmp_path: Path) -> None:
    store = sqlite3.connect(tmp_path / "endless.sqlite")
    store.execute(
        "CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL "
        "SELECT x + 1 FROM n) SELECT x AS start, x + 1 AS end, 1 AS correlationId FROM n"
    )
    with pytest.raises(SpecError, match="has no kernel in it"):
        parse_nsight(store)
