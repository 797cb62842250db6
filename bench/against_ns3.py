"""The packet simulator side by side with ns-3, on the same permutation and the same incast."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bench.fat_tree import fat_tree
from bench.packet import permutation, rocev2_400g
from netloom.engines.packet import run_packets

if TYPE_CHECKING:
    from netloom.fabric.wiring.wiring import PacketTopology
    from netloom.workload.transfers import Transfers

# ns-3 lives in an environment of its own: importing it takes seconds and much memory.
ENVIRONMENT: Final = Path(__file__).parents[1] / "build" / "ns3-venv"
PEER: Final = Path(__file__).with_name("ns3_peer.py")
RADIX: Final = 4
REPEATS: Final = 9
DELAY_PS: Final = 1_000_000


def permutation_of_16_hosts() -> None:
    """Every host sends 4 MB to another."""
    wiring = _wiring()
    _side_by_side("permutation", wiring, permutation(wiring.num_endpoints, 4_000_000))


def incast_of_15_hosts() -> None:
    """All others send 2 MB to one host."""
    wiring = _wiring()
    work = permutation(wiring.num_endpoints, 2_000_000)
    columns = {name: getattr(work, name)[1:] for name in _columns(work)}
    columns["target"] = np.zeros(len(work) - 1, dtype=np.int32)
    incast = replace(work, **columns, wait_offsets=work.wait_offsets[1:])
    _side_by_side("incast", wiring, incast)


def _columns(work: Transfers) -> list[str]:
    return [name for name in work.__slots__ if name not in {"wait_offsets", "waits"}]


def _wiring() -> PacketTopology:
    return fat_tree(RADIX, rate_bps=400e9, delay_ps=DELAY_PS)


def _side_by_side(name: str, wiring: PacketTopology, work: Transfers) -> None:
    """Print both rates and their ratio, or why there is none.

    Processor time on both sides; ours with the preparation of the run, ns-3's without. Ours takes
    hundredths of a second, so that a single run says little: the median counts.
    """
    ours = statistics.median(_rate(wiring, work) for _ in range(REPEATS))
    print(
        f"\n{name} of {wiring.num_endpoints} hosts: netloom {ours / 1e6:.3g} M packet-link "
        "traversals a second of processor time",
        end="",
    )
    peer = _answer(wiring, work)
    if isinstance(peer, str):
        print(f"; ns-3 is missing ({peer})")
        return
    theirs = peer["packet_hops"] / peer["cpu_s"]
    sent = int(work.size_bytes.sum())
    print(
        f", ns-3 {theirs / 1e3:.3g} thousand ({peer['packet_hops']:,} in {peer['cpu_s']:.2f} s; "
        f"{peer['received_bytes'] / sent:.0%} of the bytes arrived): {ours / theirs:.0f} times"
    )


def _rate(wiring: PacketTopology, work: Transfers) -> float:
    """Return our packet-link traversals a second of processor time, data and acknowledgements."""
    begin_s = time.process_time()
    delivery = run_packets(wiring, work, rocev2_400g())
    return delivery.counters["link_traversals"] / (time.process_time() - begin_s)


def _answer(wiring: PacketTopology, work: Transfers) -> dict[str, Any] | str:
    """Return what ns-3 found, or why it cannot be asked."""
    python = ENVIRONMENT / "bin" / "python"
    if not python.exists():
        why = _installed(python)
        if why:
            return why
    cables = np.stack([wiring.link_source[::2], wiring.link_target[::2]], axis=1)
    flows = np.stack([work.source, work.target, work.size_bytes], axis=1)
    asked = {
        "num_endpoints": wiring.num_endpoints,
        "cables": cables.tolist(),
        "rate_bps": float(wiring.link_rate_bps[0]),
        "delay_ps": DELAY_PS,
        "payload_bytes": 4096,
        "flows": flows.tolist(),
        "until_s": 10.0,
    }
    found = subprocess.run(  # noqa: S603  (our own file)
        [python, PEER], input=json.dumps(asked), capture_output=True, text=True, check=False
    )
    if found.returncode:
        return (found.stderr.strip().splitlines() or ["it ended without a word"])[-1]
    answer: dict[str, Any] = json.loads(found.stdout.splitlines()[-1])
    return answer


def _installed(python: Path) -> str:
    """Install ns-3 into an environment of its own; return why not, or nothing."""
    print(f"\n(installing ns-3 into {ENVIRONMENT.relative_to(Path.cwd())})")
    subprocess.run([sys.executable, "-m", "venv", ENVIRONMENT], check=True)  # noqa: S603
    pip = [str(python), "-m", "pip", "install", "--quiet", "ns3"]
    done = subprocess.run(pip, capture_output=True, text=True, check=False)  # noqa: S603
    return "" if done.returncode == 0 else "pip install ns3 failed"
