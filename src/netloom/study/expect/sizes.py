"""The sizes of a test, written as nccl-tests takes them: ``64K``, ``1M:8G``, ``16MiB``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from netloom.errors import SpecError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["DEFAULT_SIZES", "sizes_of"]

DEFAULT_SIZES: Final = tuple(2.0**power for power in range(10, 34))  # 1 KiB to 8 GiB
MAX_BYTES: Final = 2.0**44
_SIZE: Final = re.compile(r"\s*(\d{1,15}(?:\.\d{1,9})?)\s*([KMGT]?)(?:i?B)?\s*", re.IGNORECASE)
_SCALES: Final = {"": 1.0, "K": 2.0**10, "M": 2.0**20, "G": 2.0**30, "T": 2.0**40}


def sizes_of(texts: Sequence[str]) -> tuple[float, ...]:
    """Return the sizes that *texts* name, in bytes and ascending; all by default.

    ``K``, ``M`` and ``G`` are powers of 1024, as nccl-tests has them. ``1M:8G`` doubles from the
    first to the last.

    Raises:
        SpecError: one is no size, or out of range.
    """
    words = [word for text in texts for word in text.split(",") if word.strip()]
    if not words:
        return DEFAULT_SIZES
    return tuple(sorted({size for word in words for size in _each(word)}))


def _each(word: str) -> tuple[float, ...]:
    first, colon, last = word.partition(":")
    if not colon:
        return (_size(first),)
    low, high = _size(first), _size(last)
    if high < low:
        raise SpecError(
            option="--sizes", what=f"{word!r} ends before it begins", remedy="write 1M:8G"
        )
    found = []
    while low <= high:
        found.append(low)
        low *= 2
    return tuple(found)


def _size(text: str) -> float:
    found = _SIZE.fullmatch(text)
    size = float(found[1]) * _SCALES[found[2].upper()] if found else 0.0
    if not 1 <= size <= MAX_BYTES:
        raise SpecError(
            option="--sizes",
            what=f"{text[:40]!r} is no size from 1 byte to 16 TiB",
            remedy="write sizes as nccl-tests does: 64K,1M,8G or 1M:8G",
        )
    return size
