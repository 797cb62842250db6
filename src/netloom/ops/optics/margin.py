"""The margin of a link in decibels, from its bit error rate, its light or its laser's current.

All are put on one scale: decibels of light that may still be lost. A bit error rate is turned into
the signal quality Q of a four-level receiver in Gaussian noise, BER = 3/8 erfc(Q / sqrt 2), and Q
is proportional to the light where the receiver's own noise prevails; so the distance of 10 log10 Q
to its value at the FEC limit is light that may be lost (textbook; recalled).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["KP4", "KR4", "SIGNALS", "FecCode", "Signal", "margin_db_of_ber"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FecCode:
    """A Reed-Solomon code over symbols of ten bits.

    Attributes:
        num_symbols: Of a codeword.
        num_corrected: Wrong ones that it puts right.
        limit: Bit error rate before correction up to which a link is in specification.
    """

    num_symbols: int
    num_corrected: int
    limit: float

    def codeword_failure(self, ber: float) -> float:
        """Return the share of codewords that cannot be put right, bit errors being independent."""
        wrong = -math.expm1(10 * math.log1p(-ber))
        size = self.num_symbols
        return math.fsum(
            math.comb(size, k) * wrong**k * (1 - wrong) ** (size - k)
            for k in range(self.num_corrected + 1, self.num_corrected + 40)
        )


# Codes: Intel AN 846, 100GBASE-KP4 and 100GBASE-KR4 (read). Limits: IEEE 802.3 clauses 120 to 124
# (2.4e-4) and 95 (5e-5), recalled.
KP4: Final = FecCode(num_symbols=544, num_corrected=15, limit=2.4e-4)
KR4: Final = FecCode(num_symbols=528, num_corrected=7, limit=5e-5)
MIN_BER: Final = 1e-15  # below it no link is told from another
# Of a healthy link at first, where a limit of its own is not known: the connectors and the fibre
# of IEEE 802.3's 500 m links may lose 3.0 dB (recalled).
BUDGET_DB: Final = 3.0
# A laser is worn out when it needs half as much current again: Telcordia GR-468 (recalled).
WORN_DB: Final = 10 * math.log10(1.5)
# Readings outside are none: a transceiver without light, or without a sensor.
PLAUSIBLE: Final = {
    "pre_fec_error_rate": (0.0, 0.5),
    "optic_receive_power_dbm": (-30.0, 20.0),
    "optic_transmit_power_dbm": (-30.0, 20.0),
    "optic_bias_a": (1e-4, 2.0),
}

_GRID: Final = np.linspace(-15.0, math.log10(0.3), 2000)
_QUALITY_DB: Final = np.array(
    [10 * math.log10(-NormalDist().inv_cdf(10**x / 0.75)) for x in _GRID]  # erfc(q/sqrt2)=2Phi(-q)
)


def margin_db_of_ber(ber: NDArray[np.float64], code: FecCode = KP4) -> NDArray[np.float64]:
    """Return the light that may be lost until the FEC limit, in dB; negative beyond it."""
    log = np.log10(np.clip(ber, MIN_BER, 0.3))
    at_limit = np.interp(math.log10(code.limit), _GRID, _QUALITY_DB)
    return np.asarray(np.interp(log, _GRID, _QUALITY_DB) - at_limit)


@dataclass(frozen=True, slots=True, kw_only=True)
class Signal:
    """A number of a port that tells its margin.

    Attributes:
        metric: What the store calls it.
        about: In words.
        is_relative: Whether the margin is against the port's own first days, not absolute.
        budget_db: What it may lose of those.
        blames: What is to be looked at where it falls.
    """

    metric: str
    about: str
    is_relative: bool
    budget_db: float = 0.0
    blames: str = ""

    def margin_db(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the margin of each value in dB; less is worse. Relative ones: from any zero."""
        low, high = PLAUSIBLE[self.metric]
        with np.errstate(invalid="ignore"):
            told = np.where((values >= low) & (values <= high), values, np.nan)
        if self.metric == "pre_fec_error_rate":
            return margin_db_of_ber(told)
        return -10 * np.log10(told) if self.metric == "optic_bias_a" else told


SIGNALS: Final = (
    Signal(
        metric="pre_fec_error_rate",
        about="bit errors before correction",
        is_relative=False,
        blames="path",
    ),
    Signal(
        metric="optic_receive_power_dbm",
        about="light received",
        is_relative=True,
        budget_db=BUDGET_DB,
        blames="path",
    ),
    Signal(
        metric="optic_transmit_power_dbm",
        about="light sent",
        is_relative=True,
        budget_db=BUDGET_DB,
        blames="laser",
    ),
    Signal(
        metric="optic_bias_a",
        about="current of the laser",
        is_relative=True,
        budget_db=WORN_DB,
        blames="laser",
    ),
)
