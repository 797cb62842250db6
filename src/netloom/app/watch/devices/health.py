"""How well a device answers, and when it is asked again after it did not."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, replace
from typing import Any, Literal

__all__ = ["DeviceHealth", "RestPolicy"]

State = Literal["new", "up", "partial", "failing"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RestPolicy:
    """How long a device that fails is left alone.

    Attributes:
        first_s: After its first failure in a row; each further one doubles it.
        most_s: Never longer than that.
    """

    first_s: float = 5.0
    most_s: float = 300.0

    def rest_s(self, name: str, num_failures: int) -> float:
        """Return the rest after *num_failures* in a row.

        Devices that failed together are not asked together: each rests between three quarters and
        all of its time, by its name.
        """
        longest_s = min(self.most_s, self.first_s * 2.0 ** min(num_failures - 1, 30))
        return longest_s * (1 - 0.25 * (zlib.crc32(name.encode()) % 1000) / 1000)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceHealth:
    """What is known of a device's answers.

    Attributes:
        source: Kind and name of the device.
        state: ``new`` before the first look; ``partial`` where it answered and not all was seen.
        num_failures: In a row.
        error: Why the last look failed, or what it did not see.
        last_good_s: When it last answered, seconds since 1970.
        next_s: When it is asked again; 0 for at the next round.
    """

    source: str
    state: State = "new"
    num_failures: int = 0
    error: str = ""
    last_good_s: float | None = None
    next_s: float = 0.0

    def answered(self, time_s: float, missing: str) -> DeviceHealth:
        """Return its health after an answer."""
        return DeviceHealth(
            source=self.source,
            state="partial" if missing else "up",
            error=missing,
            last_good_s=time_s,
        )

    def failed(self, time_s: float, error: str, policy: RestPolicy) -> DeviceHealth:
        """Return its health after a look that failed."""
        num_failures = self.num_failures + 1
        return replace(
            self,
            state="failing",
            num_failures=num_failures,
            error=error,
            next_s=time_s + policy.rest_s(self.source, num_failures),
        )

    def to_json(self) -> dict[str, Any]:
        """Return the stable keys that docs/operate/collectors.md documents."""
        return {
            "source": self.source,
            "state": self.state,
            "num_failures": self.num_failures,
            "error": self.error,
            "last_good_s": self.last_good_s,
            "next_s": self.next_s,
        }
