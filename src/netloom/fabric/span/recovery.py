"""How long a message takes over a lossy line, by how losses are repaired.

Go-back-N sends a whole window again; selective repeat sends the lost chunk again after a time-out
(SDR-RDMA, arXiv:2505.05366: chunk i of a message leaves at i t, and each loss costs RTO + t); an
erasure code of (k, m) sends m more chunks for every k and repairs up to m losses without waiting;
FRER (IEEE 802.1CB) sends everything over two disjoint routes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

__all__ = [
    "ErasureCode",
    "MessageTimes",
    "Scheme",
    "chunk_loss",
    "erasure_times",
    "frer_times",
    "go_back_n_efficiency",
    "go_back_n_times",
    "lossless_s",
    "selective_repeat_times",
]

Scheme = Literal["go-back-n", "selective-repeat", "erasure-code", "frer"]

P999: Final = 0.999
MAX_POINTS: Final = 256  # of the distribution within one time-out
MAX_ROUNDS: Final = 4_000
NEGLIGIBLE: Final = 1e-12
SDR_TIMEOUT_RTTS: Final = 3.0  # SDR-RDMA's own; a NACK makes it 1


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageTimes:
    """How long a message takes until it is acknowledged."""

    mean_s: float
    p999_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ErasureCode:
    """Any *data* of *data* + *parity* chunks restore a block."""

    data: int = 32
    parity: int = 8

    @property
    def overhead(self) -> float:
        """More bytes than the message has, as a share."""
        return self.parity / self.data

    def block_failure(self, loss: float) -> float:
        """Return how often more chunks of a block are lost than the code repairs."""
        n = self.data + self.parity
        kept = sum(
            math.comb(n, lost) * loss**lost * (1 - loss) ** (n - lost)
            for lost in range(self.parity + 1)
        )
        return max(0.0, 1 - kept) if kept < 1 - NEGLIGIBLE else self._tail(loss)

    def _tail(self, loss: float) -> float:
        n, lost = self.data + self.parity, self.parity + 1
        return math.comb(n, lost) * loss**lost


def chunk_loss(packet_loss: float, packets: int) -> float:
    """Return how often a chunk of *packets* loses one or more of them."""
    return -math.expm1(packets * math.log1p(-packet_loss))


def lossless_s(num_chunks: int, chunk_s: float, round_trip_s: float) -> float:
    """Return the time of a message that loses nothing."""
    return num_chunks * chunk_s + round_trip_s


def go_back_n_efficiency(packet_loss: float, window_packets: float) -> float:
    """Return the share of sent packets that count, of messages much longer than the window."""
    return (1 - packet_loss) / (1 + packet_loss * window_packets)


def go_back_n_times(
    num_packets: int, packet_s: float, round_trip_s: float, packet_loss: float
) -> MessageTimes:
    """Return the times under go-back-N: each loss costs a window, losses being Poisson."""
    base_s = lossless_s(num_packets, packet_s, round_trip_s)
    window_s = round_trip_s + packet_s
    expected = num_packets * packet_loss / (1 - packet_loss)
    return MessageTimes(
        mean_s=base_s + expected * window_s,
        p999_s=base_s + _poisson_quantile(expected, P999) * window_s,
    )


def selective_repeat_times(
    num_chunks: int,
    chunk_s: float,
    round_trip_s: float,
    loss: float,
    *,
    timeout_rtts: float = SDR_TIMEOUT_RTTS,
) -> MessageTimes:
    """Return the times under selective repeat, from the exact distribution of the last chunk.

    Chunk i ends at i t + (RTO + t)(Y_i - 1), Y_i geometric, so P(all end by x) is a product of two
    powers: of the chunks that had one more round by then, and of the others.
    """
    if loss == 0:
        base_s = lossless_s(num_chunks, chunk_s, round_trip_s)
        return MessageTimes(mean_s=base_s, p999_s=base_s)
    last_s = (num_chunks - 1) * chunk_s
    again_s = timeout_rtts * round_trip_s + chunk_s
    x_s = _grid(last_s, again_s, loss, num_chunks)
    below = _all_ended(x_s, num_chunks, chunk_s, again_s, loss)
    tail_s = float(np.sum(np.diff(x_s) * (1 - below[:-1])))
    at = min(int(np.searchsorted(below, P999)), len(x_s) - 1)
    fixed_s = chunk_s + round_trip_s
    return MessageTimes(
        mean_s=last_s + tail_s + fixed_s, p999_s=max(float(x_s[at]), last_s) + fixed_s
    )


def _grid(last_s: float, again_s: float, loss: float, num_chunks: int) -> np.ndarray:
    """Return times from the last chunk's first sending on until a loss is out of the question."""
    rounds = math.ceil(math.log(NEGLIGIBLE / max(num_chunks, 1)) / math.log(loss)) + 1
    rounds += math.ceil(last_s / again_s)
    span_s = min(rounds, MAX_ROUNDS) * again_s
    points = min(4_000, MAX_POINTS * (rounds + 1))
    return np.linspace(last_s, last_s + span_s, points)


def _all_ended(
    x_s: np.ndarray, num_chunks: int, chunk_s: float, again_s: float, loss: float
) -> np.ndarray:
    """Return P(every chunk has ended by x); chunks in 64 groups that leave one after another."""
    edges = np.unique(np.linspace(0, num_chunks, min(num_chunks, 64) + 1).astype(int))
    counts = np.diff(edges)
    leaves_s = (edges[1:] - 1) * chunk_s
    rounds = np.floor((x_s[:, None] - leaves_s[None, :]) / again_s + 1e-9) + 1
    log_kept = np.log1p(
        -np.power(
            loss,
            np.maximum(rounds, 0.0),
            where=rounds > 0,
            out=np.full_like(rounds, 1 - NEGLIGIBLE),
        )
    )
    below: np.ndarray = np.exp(log_kept @ counts)
    return below


def erasure_times(  # noqa: PLR0913  (a line and a message)
    num_chunks: int,
    chunk_s: float,
    round_trip_s: float,
    loss: float,
    *,
    code: ErasureCode,
    timeout_rtts: float = SDR_TIMEOUT_RTTS,
    beta: float = 0.5,
) -> MessageTimes:
    """Return the times under an erasure code, with selective repeat of blocks it cannot repair."""
    sent = math.ceil(num_chunks * (1 + code.overhead))
    base_s = lossless_s(sent, chunk_s, round_trip_s)
    blocks = math.ceil(num_chunks / code.data)
    failed = code.block_failure(loss)
    fallback = -math.expm1(blocks * math.log1p(-failed)) if failed < 1 else 1.0
    if fallback < NEGLIGIBLE:
        return MessageTimes(mean_s=base_s, p999_s=base_s)
    again = selective_repeat_times(
        max(1, round(blocks * failed * code.data)),
        chunk_s,
        round_trip_s,
        loss,
        timeout_rtts=timeout_rtts,
    )
    wait_s = (1 + beta) * round_trip_s
    return MessageTimes(
        mean_s=base_s + fallback * (wait_s + again.mean_s),
        p999_s=base_s + (wait_s + again.p999_s if fallback > 1 - P999 else 0.0),
    )


def frer_times(
    num_chunks: int, chunk_s: float, round_trip_s: float, loss: float, other_loss: float
) -> MessageTimes:
    """Return the times when all is sent twice: selective repeat where both copies are lost."""
    return selective_repeat_times(num_chunks, chunk_s, round_trip_s, loss * other_loss)


def _poisson_quantile(mean: float, share: float) -> int:
    if mean > 700:
        return math.ceil(mean + 3.09 * math.sqrt(mean))
    term = total = math.exp(-mean)
    count = 0
    while total < share and count < 10_000:
        count += 1
        term *= mean / count
        total += term
    return count
