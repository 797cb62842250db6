"""Points that fill a cube evenly: Sobol's sequence with a random digital shift."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["MAX_DIMENSIONS", "sobol"]

_BITS: Final = 32
# Degree, coefficients and first numbers of each dimension after the first: Joe and Kuo,
# Constructing Sobol sequences with better two-dimensional projections, SIAM J. Sci. Comput. 2008
# (new-joe-kuo-6.21201; recalled, and held by the test of even projections).
_DIRECTIONS: Final = (
    (1, 0, (1,)),
    (2, 1, (1, 3)),
    (3, 1, (1, 3, 1)),
    (3, 2, (1, 1, 1)),
    (4, 1, (1, 1, 3, 3)),
    (4, 4, (1, 3, 5, 13)),
    (5, 2, (1, 1, 5, 5, 17)),
    (5, 4, (1, 1, 5, 5, 5)),
    (5, 7, (1, 1, 7, 11, 19)),
    (5, 11, (1, 1, 5, 1, 1)),
    (5, 13, (1, 1, 1, 3, 11)),
    (5, 14, (1, 3, 5, 5, 31)),
)
MAX_DIMENSIONS: Final = len(_DIRECTIONS) + 1


def sobol(count: int, num_dimensions: int, *, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return *count* points of the unit cube, one a row.

    The same shift is applied to all points, so that even spacing stays and no point is a corner.
    """
    assert 1 <= num_dimensions <= MAX_DIMENSIONS, num_dimensions
    found = np.empty((count, num_dimensions), dtype=np.float64)
    shift = rng.integers(0, 1 << _BITS, num_dimensions, dtype=np.uint64)
    for dimension in range(num_dimensions):
        whole = _column(count, _direction_numbers(dimension)) ^ shift[dimension]
        found[:, dimension] = (whole.astype(np.float64) + 0.5) / 2**_BITS
    return found


def _column(count: int, directions: list[int]) -> NDArray[np.uint64]:
    """Return one coordinate of the points, as whole numbers of 32 bits (Gray code order)."""
    values = np.zeros(count, dtype=np.uint64)
    for index in range(1, count):
        lowest = (~(index - 1) & index).bit_length() - 1  # the lowest zero bit of index - 1
        values[index] = int(values[index - 1]) ^ directions[lowest]
    return values


def _direction_numbers(dimension: int) -> list[int]:
    if dimension == 0:
        return [1 << (_BITS - 1 - k) for k in range(_BITS)]
    degree, coefficients, first = _DIRECTIONS[dimension - 1]
    numbers = [value << (_BITS - 1 - k) for k, value in enumerate(first)]
    for k in range(degree, _BITS):
        value = numbers[k - degree] ^ (numbers[k - degree] >> degree)
        for j in range(1, degree):
            if coefficients >> (degree - 1 - j) & 1:
                value ^= numbers[k - j]
        numbers.append(value)
    return numbers
