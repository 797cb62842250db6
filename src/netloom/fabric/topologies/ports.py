"""How the capacity of a switch is divided into ports."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from netloom.errors import InfeasibleError
from netloom.spec.topology import MAX_PLANES
from netloom.units import RATE, format_quantity

if TYPE_CHECKING:
    from netloom.parts.parts import PortMode, Switch

__all__ = ["Ports", "spread", "switch_ports"]

# Absorbs floating-point rounding: 64 x 15/16 wants 60 uplinks, not 61.
_ROUNDING = 1e-9
_MORE_PLANES = ", or split each NIC over more planes"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ports:
    """What one switch offers to hosts and to other switches.

    A port takes up its share of the switch: with 256 ports of 200 Gbit/s or 128 of 400 Gbit/s,
    136 of the one kind leave room for 60 of the other.

    Attributes:
        host_radix: Ports when all of them are host ports.
        host_rate_bps: Of a host port.
        radix: Ports when all of them go to other switches.
        rate_bps: Of a port to another switch.
    """

    host_radix: int
    host_rate_bps: float
    radix: int
    rate_bps: float

    def min_up(self, num_hosts: int, oversubscription: float) -> int:
        """Return the fewest uplinks that serve *num_hosts* host ports."""
        demand_bps = num_hosts * self.host_rate_bps / oversubscription
        return math.ceil(demand_bps / self.rate_bps - _ROUNDING)

    def max_up(self, num_hosts: int) -> int:
        """Return the uplinks there is room for beside *num_hosts* host ports."""
        return (self.host_radix - num_hosts) * self.radix // self.host_radix

    def max_hosts(self, oversubscription: float) -> int:
        """Return the most host ports that leave room for their uplinks; 0 when none do."""
        share = 1 / self.host_radix + self.host_rate_bps / (
            oversubscription * self.rate_bps * self.radix
        )
        bound = min(self.host_radix - 1, int(1 / share) + 1)
        fitting = (
            num_hosts
            for num_hosts in range(bound, 0, -1)
            if self.min_up(num_hosts, oversubscription) <= self.max_up(num_hosts)
        )
        return next(fitting, 0)

    def between(self) -> Ports:
        """Return the ports of a switch that has no hosts of its own."""
        return Ports(
            host_radix=self.radix,
            host_rate_bps=self.rate_bps,
            radix=self.radix,
            rate_bps=self.rate_bps,
        )

    def scaled(self, host_radix: int) -> Ports:
        """Return a switch of the same kind with *host_radix* host ports."""
        return Ports(
            host_radix=host_radix,
            host_rate_bps=self.host_rate_bps,
            radix=host_radix * self.radix // self.host_radix,
            rate_bps=self.rate_bps,
        )


def switch_ports(switch: Switch, *, rate_bps: float, uplink_rate_bps: float | None) -> Ports:
    """Return the ports of *switch* when its hosts send at *rate_bps*.

    A rate the switch has no mode for runs on the slowest faster port; uplinks then run at the
    full rate of that port unless *uplink_rate_bps* says otherwise.

    Raises:
        InfeasibleError: no port is fast enough.
    """
    host = _mode(switch, rate_bps)
    if host is None:
        more = "" if _fastest_bps(switch) * MAX_PLANES < rate_bps else _MORE_PLANES
        message = f"{_too_slow(switch, rate_bps)}: use a switch with faster ports{more}"
        raise InfeasibleError(message)
    uplink = host if uplink_rate_bps is None else _mode(switch, uplink_rate_bps)
    if uplink is None:
        assert uplink_rate_bps is not None
        fastest = format_quantity(_fastest_bps(switch), RATE)
        said = _too_slow(switch, uplink_rate_bps)
        raise InfeasibleError(
            key="topology.uplink_rate", what=f"{said}: use uplink_rate: {fastest} or less"
        )
    return Ports(
        host_radix=host.count,
        host_rate_bps=rate_bps,
        radix=uplink.count,
        rate_bps=uplink.rate_bps if uplink_rate_bps is None else uplink_rate_bps,
    )


def _mode(switch: Switch, rate_bps: float) -> PortMode | None:
    fitting = [mode for mode in switch.modes if mode.rate_bps >= rate_bps]
    return min(fitting, key=lambda mode: (mode.rate_bps, -mode.count), default=None)


def _fastest_bps(switch: Switch) -> float:
    return max(mode.rate_bps for mode in switch.modes)


def _too_slow(switch: Switch, rate_bps: float) -> str:
    wanted = format_quantity(rate_bps, RATE)
    fastest = format_quantity(_fastest_bps(switch), RATE)
    return f"{switch.name}: has no port of {wanted}, its fastest run at {fastest}"


def spread(*, min_up: int, max_up: int, num_lower: int, radix: int) -> tuple[int, int]:
    """Return the fewest upper switches, and the cables from each lower switch to each of them.

    Every lower switch has the same number of cables to every upper one, so 32 uplinks of 24
    leaves want 16 spines of 64 ports though 12 would have the ports (NVIDIA RA-11333-001,
    table 4). There may be more than *min_up* cables where that saves upper switches.

    Args:
        min_up: Uplinks that one lower switch needs.
        max_up: Uplinks that it has room for.
        num_lower: Lower switches that meet each upper switch.
        radix: Ports of an upper switch towards them, at least *num_lower*.
    """
    assert 1 <= min_up <= max_up, (min_up, max_up)
    assert num_lower <= radix, (num_lower, radix)
    num_upper = -(-min_up // (radix // num_lower))
    while num_upper * -(-min_up // num_upper) > max_up:
        num_upper += 1
    return num_upper, -(-min_up // num_upper)
