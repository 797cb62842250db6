"""The flow engine against SimGrid 3.32 on the same links and flows: model CM02, all factors 1."""

from __future__ import annotations

import numpy as np
import pytest
import small

from bench.flow import has_simgrid, in_simgrid
from netloom.engines.flow import FlowSettings
from netloom.engines.flow.phases import at_once
from netloom.engines.flow.routes import ground
from netloom.engines.flow.run import deliver, lay
from netloom.fabric.wiring.ports import turns

pytestmark = pytest.mark.validation

WITHIN = 0.01


@pytest.fixture(scope="module")
def simgrid() -> None:
    if not has_simgrid():
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
    # Messages of one connection go in order here, and SimGrid's do not: a class each, all alike.
    asked.priority[:] = turns(source, target)
    laid = lay(ground(fabric), asked, FlowSettings())
    ours = deliver(laid).finish_ps * 1e-12
    np.testing.assert_allclose(ours, in_simgrid(laid)["finish_s"], rtol=WITHIN)


@pytest.mark.parametrize("balance", ["static", "ecmp"])
@pytest.mark.usefixtures("simgrid")
def test_an_all_to_all_ends_when_simgrid_says(balance: str) -> None:
    fabric = small.clos3(4, 2, 2, 2, 2)
    source, target = np.divmod(np.arange(256), 16)
    apart = source != target
    asked = at_once(source[apart], target[apart], size_bytes=10**6)
    laid = lay(ground(fabric), asked, FlowSettings(balance=balance))  # type: ignore[arg-type]
    ours = deliver(laid).finish_ps * 1e-12
    np.testing.assert_allclose(ours, in_simgrid(laid)["finish_s"], rtol=WITHIN)
