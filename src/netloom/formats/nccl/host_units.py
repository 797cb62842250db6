"""What brings NIC settings back after a reboot, and what reads them back.

A service runs the script of a computer at boot, and a rule of udev runs it again whenever a NIC
appears: after a reset or a reload of the driver as well.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from netloom.formats.nccl.host_settings import FIRST_TABLE, MTU_BYTES, traffic_class

if TYPE_CHECKING:
    from collections.abc import Iterator

    from netloom.ops.deploy.intent import Intent
    from netloom.ops.deploy.quality import Quality

__all__ = ["RULES", "SERVICE", "nic_check", "nic_rules", "nic_service"]

SERVICE: Final = "netloom-nics.service"
RULES: Final = "90-netloom-nics.rules"
FOLDER: Final = "/etc/netloom"
DRIVER: Final = "mlx5_core"

_SERVICE: Final = f"""\
[Unit]
Description=Addresses, PFC, DSCP and ECN of this computer's NICs
Documentation=man:mlnx_qos(8)
After=network-pre.target openibd.service systemd-udev-settle.service
StartLimitIntervalSec=0

[Service]
Type=oneshot
ExecStart={FOLDER}/nics.sh
ExecStartPost={FOLDER}/nics-check.sh
Restart=on-failure
RestartSec=5

[Install]
WantedBy=multi-user.target
"""
_RULES: Final = (
    f'ACTION=="add|move", SUBSYSTEM=="net", DRIVERS=="{DRIVER}", TAG+="systemd", '
    f'ENV{{SYSTEMD_WANTS}}+="{SERVICE}"\n'
)
# What mlnx_qos prints: 'Priority trust state: dscp', 'prio:3 dscp:31,30,...', and under 'PFC
# configuration:' a line 'enabled 0 0 0 1 0 0 0 0' (Mellanox mlnx-tools, python/mlnx_qos).
_HEAD: Final = """\
#!/bin/sh
# Compares what the NICs of this computer do with what nics.sh set; exit status 1 where they differ.
sys=${NETLOOM_SYS:-/sys}
bad=0
want() {
  [ "$2" = "$3" ] && return
  echo "$1: is '$3', should be '$2'"
  bad=1
}
dscp_priority() {
  printf '%s\\n' "$qos" | sed -n 's/^[[:space:]]*prio:\\([0-7]\\) dscp:\\(.*\\)$/\\1 ,\\2/p' |
    awk -v dscp="$1" '{ n = split($2, all, ","); for (i = 1; i <= n; i++)
      if (all[i] != "" && all[i] + 0 == dscp) print $1 }'
}
"""


def nic_service() -> str:
    """Return the unit of systemd."""
    return _SERVICE


def nic_rules() -> str:
    """Return the rules of udev."""
    return _RULES


def nic_check(intent: Intent, computer: int) -> str:
    """Return a script that compares the NICs of a computer with what its nics.sh sets."""
    lines = [line for host in intent.site.ports_of[computer] for line in _nic(intent, host)]
    return _HEAD + "".join(f"{line}\n" for line in (*lines, 'exit "$bad"'))


def _nic(intent: Intent, host: int) -> Iterator[str]:
    device, link = intent.site.interface(host), intent.host_link(host)
    table = FIRST_TABLE + intent.site.nics[host].index
    yield f'netdev=$(ls "$sys/class/infiniband/{device}/device/net" 2>/dev/null | head -n 1)'
    yield f'if [ -z "$netdev" ]; then want "{device}" present missing; else'
    yield f'want "{device} mtu" {MTU_BYTES} "$(cat "$sys/class/net/$netdev/mtu")"'
    yield (
        f'want "{device} address" {link.host_address} '
        '"$(ip -o -4 address show dev "$netdev" | awk \'{print $4}\' | grep -Fx '
        f'{link.host_address})"'
    )
    yield (
        f'want "{device} gateway" {link.switch_address.ip} '
        f'"$(ip route show table {table} 2>/dev/null '
        "| sed -n 's/.* via \\([0-9.]*\\).*/\\1/p' | head -n 1)\""
    )
    if intent.quality is not None:
        yield from _lossless(device, intent.quality)
    yield "fi"


def _lossless(device: str, quality: Quality) -> Iterator[str]:
    pauses = " ".join("1" if p == quality.priority else "0" for p in range(8))
    ecn = "$sys/class/net/$netdev/ecn"
    tos = traffic_class(quality)
    yield 'qos=$(mlnx_qos -i "$netdev")'
    yield (
        f'want "{device} trust" dscp '
        "\"$(printf '%s\\n' \"$qos\" | sed -n 's/^Priority trust state: *//p')\""
    )
    yield (
        f"want \"{device} pfc\" '{pauses}' "
        '"$(printf \'%s\\n\' "$qos" | awk \'$1 == "enabled" '
        '{ sub(/^[ \\t]*enabled[ \\t]*/, ""); $1 = $1; print; exit }\')"'
    )
    for dscp, priority in (
        (quality.dscp, quality.priority),
        (quality.cnp_dscp, quality.cnp_priority),
    ):
        yield f'want "{device} priority of dscp {dscp}" {priority} "$(dscp_priority {dscp})"'
    yield f'want "{device} cma_roce_tos" {tos} "$(cma_roce_tos -d {device})"'
    yield (
        f'want "{device} traffic_class" {tos} "$(sed -n \'s/[^0-9]*\\([0-9]*\\).*/\\1/p\' '
        f'"$sys/class/infiniband/{device}/tc/1/traffic_class" | head -n 1)"'
    )
    for name, value in (
        (f"roce_np/enable/{quality.priority}", 1),
        (f"roce_rp/enable/{quality.priority}", 1),
        ("roce_np/cnp_dscp", quality.cnp_dscp),
        ("roce_np/cnp_802p_prio", quality.cnp_priority),
    ):
        yield f'want "{device} {name}" {value} "$(cat "{ecn}/{name}")"'
