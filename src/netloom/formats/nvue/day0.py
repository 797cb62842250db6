"""Cumulus Linux's zero-touch provisioning: a script that replaces the whole configuration.

ZTP runs what option 239 names if it bears its marker (Cumulus Linux, Zero Touch Provisioning).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from netloom.ops.switch_systems import Day0

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["day0"]

_SCRIPT: Final = """\
#!/bin/bash
# CUMULUS-AUTOPROVISIONING
set -eu
curl -fsS -o /etc/nvue.d/netloom.yaml {url}/nvue.yaml
nv config replace /etc/nvue.d/netloom.yaml
nv config apply -y
nv config save
"""


def day0(files: Mapping[str, str], url: str, gateway: str) -> Day0:
    """Return what a switch of Cumulus Linux fetches when it boots for the first time."""
    del gateway
    return Day0(
        option="provision-url",
        boots="cumulus-ztp.sh",
        files={"cumulus-ztp.sh": _SCRIPT.format(url=url), "nvue.yaml": files["nvue.yaml"]},
    )
