"""Distributions of flow sizes: those shipped, and files of ``size cumulative-percent``."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING, Final

import numpy as np

from netloom.errors import SpecError, at
from netloom.spec.anchor import is_path
from netloom.spec.files import read_text

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["SizeDistribution", "distribution", "parse_distribution", "shipped"]

MAX_FILE_BYTES: Final = 1 << 20
LARGEST_BYTES: Final = 1e15


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SizeDistribution:
    """Flow sizes, linear between the points of their cumulative distribution.

    Attributes:
        size_bytes: Ascending.
        share: Of flows that are no larger; from 0 to 1.
    """

    size_bytes: NDArray[np.float64]
    share: NDArray[np.float64]

    @property
    def mean_bytes(self) -> float:
        """The mean size."""
        middle = (self.size_bytes[1:] + self.size_bytes[:-1]) / 2
        return float(middle @ np.diff(self.share))

    def draw(self, count: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """Return *count* sizes in whole bytes, at least 1 each."""
        drawn = np.interp(rng.random(count), self.share, self.size_bytes)
        return np.maximum(drawn.astype(np.int64), 1)


def shipped() -> tuple[str, ...]:
    """Return the names of the distributions that come with netloom."""
    folder = resources.files("netloom.workload") / "data"
    names = (file.name for file in folder.iterdir())
    return tuple(sorted(name.removesuffix(".cdf") for name in names if name.endswith(".cdf")))


def distribution(name: str) -> SizeDistribution:
    """Return a shipped distribution by its name, or the one in the file of that path.

    A file has a suffix, or a folder in its path: a plain word is never looked for on disk.

    Raises:
        SpecError: there is no such file, or it is wrong; the message names the line.
    """
    if name in shipped():
        file = resources.files("netloom.workload") / "data" / f"{name}.cdf"
        return parse_distribution(file.read_text(encoding="utf-8"), name=name)
    if not is_path(name):
        raise SpecError(
            key="traffic.distribution",
            what=f"no distribution is called {name!r}",
            remedy=f"use {', '.join(shipped())}, or a file such as ./{name}.cdf",
        )
    wanted = f"a file of sizes and cumulative percent, or one of {', '.join(shipped())}"
    return parse_distribution(read_text(name, max_bytes=MAX_FILE_BYTES, wanted=wanted), name=name)


def parse_distribution(text: str, *, name: str) -> SizeDistribution:
    """Return the distribution that *text* holds; *name* opens the messages.

    One ``size percent`` a line, sizes in bytes and ascending, percent from 0 to 100; ``#`` begins
    a comment.

    Raises:
        SpecError: a line is wrong, or the last one does not reach 100.
    """
    points: list[tuple[float, float]] = []
    for number, line in enumerate(text.splitlines(), start=1):
        words = line.partition("#")[0].split()
        if words:
            with at(file=name, line=number):
                points.append(_point(words, points))
    if len(points) < 2 or points[-1][1] != 100 or points[-1][0] == 0:
        raise SpecError(
            file=name, what="the last line must reach 100 percent, and at least two are needed"
        )
    if points[0][1] > 0:
        points.insert(0, (points[0][0], 0.0))
    size, percent = np.array(points).T
    return SizeDistribution(size_bytes=size, share=percent / 100)


def _point(words: list[str], before: list[tuple[float, float]]) -> tuple[float, float]:
    try:
        size, percent = (float(word) for word in words)
    except ValueError as error:
        raise SpecError(
            what=f"{' '.join(words)[:60]!r} is not 'size percent', such as '10000 15'"
        ) from error
    least_size, least_percent = before[-1] if before else (0.0, 0.0)
    if not (least_size <= size <= LARGEST_BYTES and least_percent <= percent <= 100):
        raise SpecError(
            what=(
                f"{words[0]} bytes at {words[1]} percent follow {least_size:g} at {least_percent:g}"
            ),
            remedy="both must ascend, to at most 1e15 bytes and 100 percent",
        )
    return size, percent
