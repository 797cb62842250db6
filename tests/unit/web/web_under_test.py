"""What the tests of the site share."""

from __future__ import annotations

HOST = "127.0.0.1:8787"
ORIGIN = f"http://{HOST}"
OPERATOR_TOKEN = "operator-token-0123456789abcdef"  # noqa: S105
VIEWER_TOKEN = "viewer-token-0123456789abcdefgh"  # noqa: S105


class StoppedClock:
    """Seconds that pass when a test says so."""

    def __init__(self) -> None:
        self.now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s
