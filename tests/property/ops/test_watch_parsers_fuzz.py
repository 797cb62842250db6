"""What devices and jobs say is hostile: a parser gives a value or a NetloomError, and quickly."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netloom.errors import NetloomError
from netloom.formats.benchmarks import nccl_tests
from netloom.formats.frr import bfd as bfd_format
from netloom.formats.infiniband import counters as ibcounters
from netloom.formats.inventory import cable_list, lldp
from netloom.formats.nccl import log as nccl_log
from netloom.formats.prometheus import exposition
from netloom.formats.traces import flight_recorder, step_times
from netloom.ops.observe import naming

if TYPE_CHECKING:
    from collections.abc import Callable

RECORDED = Path(__file__).parents[2] / "data" / "watch"


def dumped(text: str) -> object:
    return flight_recorder.parse_dump(text.encode("utf-8", errors="surrogatepass"))


PARSERS: dict[str, Callable[[str], object]] = {
    "node_exporter.prom": exposition.parse_exposition,
    "all_reduce.txt": nccl_tests.parse,
    "all_reduce.json": nccl_tests.parse,
    "nccl_info.log.txt": nccl_log.parse_log,
    "nccl_warn.log.txt": nccl_log.parse_log,
    "fr_nccl_0.json": dumped,
    "fr_gloo_1.json": dumped,
    "show_bfd_peers.json": bfd_format.parse_sessions,
    "ibqueryerrors_counters.txt": ibcounters.parse_port_counters,
    "lldp_json0.json": lldp.parse_neighbours,
}
TEXTS = {name: (RECORDED / name).read_text(encoding="utf-8")[:3000] for name in PARSERS} | {
    "steps": 'step,rank,step_s,time_s\n1,0,2.5,100\n{"step": 2, "step_s": 1}\n',
    "cables": "a_device,a_port,b_device,b_port,rate\nleaf:0,5,spine:0,1,400Gbps\n",
    "names": "name,device\nleaf01,leaf:0\n",
    "ports": "device,label,port\nleaf01,Ethernet1/7,7\n",
}
PARSERS |= {
    "steps": step_times.parse_step_times,
    "cables": lambda text: cable_list.parse_cable_list(text, naming.Naming()),
    "names": naming.parse_names,
    "ports": naming.parse_ports,
}


def survives(parse: Callable[[str], object], text: str) -> None:
    with suppress(NetloomError):
        parse(text)


@pytest.mark.parametrize("name", list(PARSERS))
@given(text=st.text(max_size=300))
@settings(max_examples=40)
def test_any_text_is_survived(name: str, text: str) -> None:
    survives(PARSERS[name], text)


@pytest.mark.parametrize("name", list(PARSERS))
@given(data=st.data())
@settings(max_examples=50)
def test_what_was_really_said_is_survived_when_cut_and_changed(
    name: str, data: st.DataObject
) -> None:
    text = TEXTS[name]
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    put = data.draw(
        st.text(max_size=6) | st.sampled_from(["9" * 400, "1e999", "\x00", "null", '"', "{[", "-1"])
    )
    survives(PARSERS[name], text[:start] + put + text[end:])


@given(st.binary(max_size=300))
@settings(max_examples=100)
def test_any_bytes_are_survived_as_a_dump(data: bytes) -> None:
    with suppress(NetloomError):
        flight_recorder.parse_dump(data)


@given(data=st.data())
@settings(max_examples=150)
def test_a_real_pickle_is_survived_when_changed(data: st.DataObject) -> None:
    real = (RECORDED / "fr_nccl_0.pickle").read_bytes()
    place = data.draw(st.integers(0, len(real) - 1))
    put = data.draw(st.binary(max_size=3))
    with suppress(NetloomError):
        flight_recorder.parse_dump(real[:place] + put + real[place + 1 :])


@given(st.dictionaries(st.from_regex(r"[a-z_]{1,8}", fullmatch=True), st.text(max_size=20)))
def test_a_label_comes_back_as_it_was_written(labels: dict[str, str]) -> None:
    def escaped(text: str) -> str:
        return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")

    written = ",".join(f'{name}="{escaped(value)}"' for name, value in labels.items())
    (sample,) = exposition.parse_exposition(f"a{{{written}}} 1\n").samples
    assert sample.labels == labels
