"""Traffic that is not a collective: permutations, incasts, storage bursts, open-loop arrivals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from netloom.errors import InfeasibleError, SpecError
from netloom.workload.dag import Dag

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from netloom.workload.sizes import SizeDistribution

__all__ = ["MAX_FLOWS", "incast", "open_loop", "permutation", "storage"]

MAX_FLOWS: Final = 100_000_000  # about 6 GiB of transfers


def permutation(hosts: NDArray[np.int64], size_bytes: int, *, rng: np.random.Generator) -> Dag:
    """Return one flow from each host, one to each host, none to itself.

    Raises:
        SpecError: there are fewer than two hosts.
    """
    _check_several(hosts, "permutation")
    target = rng.permutation(hosts)
    while (target == hosts).any():  # 37 % of all permutations move everybody
        target = rng.permutation(hosts)
    return Dag.of(hosts, target, size_bytes)


def incast(sources: NDArray[np.int64], target: int, size_bytes: int) -> Dag:
    """Return one flow from each of *sources*, all to *target*."""
    return Dag.of(sources, np.full(len(sources), target), size_bytes)


def storage(
    clients: NDArray[np.int64],
    servers: NDArray[np.int64],
    size_bytes: int,
    *,
    num_bursts: int,
    period_ps: int,
) -> Dag:
    """Return bursts in which each client writes *size_bytes*, striped over all servers.

    Raises:
        SpecError: there are fewer bytes than servers.
    """
    if size_bytes < len(servers):
        raise SpecError(
            what=f"storage: {size_bytes} bytes over {len(servers)} servers",
            remedy="give a larger size",
        )
    stripes = np.diff(np.arange(len(servers) + 1) * size_bytes // len(servers))
    burst, client, server = (
        axis.reshape(-1) for axis in np.indices((num_bursts, len(clients), len(servers)))
    )
    return Dag.of(
        clients[client],
        servers[server],
        stripes[server],
        connection=burst,
        start_ps=burst * period_ps,
    )


def open_loop(
    hosts: NDArray[np.int64],
    sizes: SizeDistribution,
    *,
    rate_bps: float,
    load: float,
    duration_ps: int,
    rng: np.random.Generator,
) -> Dag:
    """Return flows that arrive as a Poisson process at each host, to uniformly random others.

    The load is that of the HPCC traffic generator: payload over the host's link rate, so that
    headers and acknowledgements come on top.

    Args:
        hosts: Who sends and receives.
        sizes: How large flows are.
        rate_bps: Of a host's link.
        load: Payload offered by a host over *rate_bps*.
        duration_ps: How long flows keep arriving.
        rng: Draws everything.

    Raises:
        SpecError: there are fewer than two hosts.
        InfeasibleError: there would be more flows than anybody can keep.
    """
    _check_several(hosts, "poisson")
    gap_ps = sizes.mean_bytes * 8 / (load * rate_bps) * 1e12
    expected = len(hosts) * duration_ps / gap_ps
    if expected > MAX_FLOWS:
        raise InfeasibleError(
            what=f"poisson: {expected:,.0f} flows", remedy="shorten the duration, or lower the load"
        )
    # Arrivals of a Poisson process, given their number, are independent and uniform.
    counts = rng.poisson(duration_ps / gap_ps, size=len(hosts))
    total = int(counts.sum())
    start_ps = (rng.random(total) * duration_ps).astype(np.int64)
    order = np.argsort(start_ps, kind="stable")
    sender = np.repeat(np.arange(len(hosts)), counts)[order]
    offset = rng.integers(1, len(hosts), size=total)
    return Dag.of(
        hosts[sender],
        hosts[(sender + offset) % len(hosts)],
        sizes.draw(total, rng),
        connection=np.arange(total),
        start_ps=start_ps[order],
    )


def _check_several(hosts: NDArray[np.int64], kind: str) -> None:
    if len(hosts) < 2:
        raise SpecError(
            what=f"{kind}: needs at least 2 endpoints, not {len(hosts)}", remedy="raise 'count'"
        )
