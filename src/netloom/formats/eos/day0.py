"""EOS's zero-touch provisioning: the file that option 67 names becomes the startup-config."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netloom.ops.switch_systems import Day0

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["day0"]


def day0(files: Mapping[str, str], url: str, gateway: str) -> Day0:
    """Return what an EOS switch fetches when it boots for the first time."""
    del url, gateway
    return Day0(
        option="boot-file-name",
        boots="startup-config",
        files={"startup-config": files["eos.conf"]},
    )
