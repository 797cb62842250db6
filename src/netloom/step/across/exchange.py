"""Gradients and outer updates over the cut, in closed form; numbers or numpy arrays.

Hierarchical all-reduce over S sites: reduce-scatter inside, all-reduce across on the shares,
all-gather inside, chunk by chunk, so that the three run side by side.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

__all__ = [
    "AcrossShape",
    "bytes_each_way",
    "exchange_s",
    "exposed_exchange_s",
    "local_exposed_s",
    "local_traffic_cut",
    "outer_bytes",
]

AcrossShape = Literal["ring", "tree"]


def bytes_each_way(volume_bytes: float, num_sites: int, shape: AcrossShape = "ring") -> float:
    """Return what one direction of the busiest span carries to all-reduce *volume_bytes*.

    A ring carries 2 (S - 1) / S of it; along a tree it goes up once and comes down once, which is
    once each way. Two sites are both.
    """
    if num_sites < 2:
        return 0.0
    return volume_bytes * (2 * (num_sites - 1) / num_sites if shape == "ring" else 1.0)


def exchange_s(
    sent_bytes: float,
    rate_bps: float | np.ndarray,
    delay_s: float | np.ndarray,
    *,
    hops: int,
    chunks: int = 1,
    window_chunks: int | None = None,
) -> float | np.ndarray:
    """Return how long an exchange takes: its bytes, its delays, and the waits for a window.

    Args:
        sent_bytes: By one direction of the span.
        rate_bps: Payload of one direction.
        delay_s: One way.
        hops: Delays on the critical path: 2 (S - 1) in a ring.
        chunks: Pieces that are sent one behind another.
        window_chunks: Of them in flight before an answer must come; None for as many as it takes.
    """
    waits = 0 if window_chunks is None else -(-chunks // window_chunks) - 1
    return sent_bytes * 8 / rate_bps + hops * delay_s + 2 * waits * delay_s


def exposed_exchange_s(
    sent_s: float | np.ndarray,
    inside_s: float,
    *,
    delays_s: float | np.ndarray,
    hidden_s: float,
    inside_exposed_s: float,
    chunks: int,
) -> float | np.ndarray:
    """Return what a hierarchical exchange shows beyond what its inside shows alone.

    Chunks pass the inside and the line one behind another: the slower of the two takes its whole
    time, the other the time of one chunk. Delays are in series with both, whatever the chunks. The
    last chunk is ready when the last pass ends: nothing hides its way over the line.

    Args:
        sent_s: The bytes over the payload rate of the line, and what lost packets wait.
        inside_s: All of the exchange inside the sites.
        delays_s: Of the line, on the critical path.
        hidden_s: Computation that runs meanwhile.
        inside_exposed_s: What the inside alone shows.
        chunks: Pieces that are sent one behind another.
    """
    slower, faster = np.maximum(sent_s, inside_s), np.minimum(sent_s, inside_s)
    whole_s = slower + faster / chunks + delays_s
    return np.maximum(whole_s - hidden_s - inside_exposed_s, sent_s / chunks + delays_s)


def outer_bytes(parameters: float, bits: int) -> float:
    """Return the size of one outer update."""
    return parameters * bits / 8


def local_traffic_cut(every: int, bits: int, *, from_bits: int = 32) -> float:
    """Return how many times fewer bytes cross than with an exchange of *from_bits* a step."""
    return every * from_bits / bits


def local_exposed_s(
    sync_s: float | np.ndarray, step_s: float, *, every: int, fragments: int, slack_steps: int
) -> float | np.ndarray:
    """Return what an outer exchange adds to each of its *every* steps.

    Fragments are sent at different steps, and may take *slack_steps* steps each; without slack the
    step waits for all of it.
    """
    waits_s = np.maximum(0.0, sync_s / fragments - slack_steps * step_s)
    return fragments * waits_s / every
