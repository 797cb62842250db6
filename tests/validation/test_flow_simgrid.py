"""The flow engine against SimGrid 3.32 on the same links and flows: model CM02, all factors 1."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest
import small

from netloom.engines.flow import FlowSettings
from netloom.engines.flow.phases import at_once
from netloom.engines.flow.routes import ground
from netloom.engines.flow.run import Laid, deliver, lay

pytestmark = pytest.mark.validation

PEER = Path(__file__).parents[2] / "bench/simgrid_peer.py"
PYTHON = Path("/usr/bin/python3")
WITHIN = 0.01


def in_simgrid(laid: Laid) -> list[float]:
    transfers, ways = laid.transfers, laid.ways
    flows = [
        {
            "source": int(transfers.source[i]),
            "target": int(transfers.target[i]),
            "links": ways.links[ways.offsets[i] : ways.offsets[i + 1]].tolist(),
            "size_bytes": int(transfers.size_bytes[i]),
            "start_s": float(transfers.start_ps[i]) * 1e-12,
        }
        for i in range(len(transfers))
    ]
    asked = {"capacity_bps": laid.on.capacity_bps(laid.settings).tolist(), "flows": flows}
    ran = subprocess.run(  # noqa: S603
        [PYTHON, PEER], input=json.dumps(asked), capture_output=True, text=True, check=True
    )
    found: list[float] = json.loads(ran.stdout)["finish_s"]
    return found


@pytest.fixture(scope="module")
def simgrid() -> None:
    probe = [str(PYTHON), "-c", "import simgrid"]
    if not PYTHON.exists() or subprocess.run(probe, capture_output=True, check=False).returncode:  # noqa: S603
        pytest.skip("SimGrid is not installed for /usr/bin/python3 (Debian: python3-simgrid)")


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.usefixtures("simgrid")
def test_random_transfers_end_when_simgrid_says(seed: int) -> None:
    """300 transfers of unequal size that start at different times on a three-tier tree."""
    fabric = small.clos3(4, 2, 2, 2, 2)
    rng = np.random.default_rng(seed)
    source = rng.integers(0, 16, 300)
    target = (source + rng.integers(1, 16, 300)) % 16
    # One five-tuple a pair: SimGrid has one route a pair.
    asked = at_once(source, target, size_bytes=rng.integers(10**5, 10**7, 300))
    asked.start_ps[:] = rng.integers(0, 10**9, 300)
    laid = lay(ground(fabric), asked, FlowSettings())
    ours = deliver(laid).finish_ps * 1e-12
    np.testing.assert_allclose(ours, in_simgrid(laid), rtol=WITHIN)


@pytest.mark.parametrize("balance", ["static", "ecmp"])
@pytest.mark.usefixtures("simgrid")
def test_an_all_to_all_ends_when_simgrid_says(balance: str) -> None:
    fabric = small.clos3(4, 2, 2, 2, 2)
    source, target = np.divmod(np.arange(256), 16)
    apart = source != target
    asked = at_once(source[apart], target[apart], size_bytes=10**6)
    laid = lay(ground(fabric), asked, FlowSettings(balance=balance))  # type: ignore[arg-type]
    ours = deliver(laid).finish_ps * 1e-12
    np.testing.assert_allclose(ours, in_simgrid(laid), rtol=WITHIN)
