"""SONiC's zero-touch provisioning: a ztp.json that names the files of a switch.

Sections run in the order of their numbers (SONiC's doc/ztp/ztp.md): the configuration is loaded,
routing is put in place by a script, and the gateway must answer.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from netloom.ops.switch_systems import Day0

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["day0"]

_ROUTING: Final = """\
#!/bin/sh
set -eu
curl -fsS -o /etc/sonic/frr/frr.conf {url}/frr.conf
chown 300:300 /etc/sonic/frr/frr.conf
systemctl restart bgp
"""


def day0(files: Mapping[str, str], url: str, gateway: str) -> Day0:
    """Return what a SONiC switch fetches when it boots for the first time.

    Args:
        files: What the switch is told, by the names of its files.
        url: Of its folder.
        gateway: That must answer once it is set up.
    """
    plan = {
        "ztp": {
            "01-configdb-json": {
                "url": {
                    "source": f"{url}/config_db.json",
                    "destination": "/etc/sonic/config_db.json",
                },
                "clear-config": False,
            },
            "02-routing": {"plugin": {"url": f"{url}/routing.sh"}},
            "03-connectivity-check": {"ping-hosts": [gateway]},
        }
    }
    return Day0(
        option="boot-file-name",
        boots="ztp.json",
        files={
            "ztp.json": json.dumps(plan, indent=2) + "\n",
            "config_db.json": files["sonic/config_db.json"],
            "frr.conf": files["sonic/frr.conf"],
            "routing.sh": _ROUTING.format(url=url),
        },
    )
