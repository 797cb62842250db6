"""How urgent each kind of trouble is, and what to do about it first.

Kinds are those of :mod:`netloom.ops.locate.faults`; one that is not listed, such as another
package's, pages and points to the evidence.
"""

from __future__ import annotations

from typing import Final

__all__ = ["PAGE", "WARNING", "remedy_of", "severity_of"]

PAGE: Final = "page"
WARNING: Final = "warning"
_UNKNOWN: Final = "read the evidence with 'netloom cases show', then plan with 'netloom heal'"
_CLEAN: Final = "clean or reseat both ends, then replace the transceiver, then the cable"
_ROUTES: Final = "compare 'show ip route' with the design; remove what was put there by hand"
_SET: Final = "set it as 'netloom deploy render' writes it"
_IDENTITY: Final = "give one of the two its own again, as 'netloom deploy render' writes it"

_KINDS: Final = {
    "loss": (PAGE, _CLEAN),
    "large-packet loss": (PAGE, "compare the MTU of both ends and of the path"),
    "black hole": (PAGE, "drain the part; restart its forwarding or the whole switch"),
    "slow": (WARNING, "compare the speed and width of both ends; look for pauses"),
    "delay": (WARNING, "look for queues and pauses on the way before replacing anything"),
    "forwarding lost paths": (PAGE, "restart zebra on the switch: the kernel lost next hops"),
    "pause storm": (PAGE, "take the NIC's port down; reset the NIC"),
    "missing cable": (PAGE, "reseat the cable at both ends; 'netloom audit' has rack and port"),
    "missing port": (PAGE, f"{_SET}: an interface there has another name, or is gone"),
    "silent device": (PAGE, "look at its power and its management port"),
    "miswired": (WARNING, "move the cable to the port that 'netloom audit' names"),
    "wrong speed": (WARNING, "compare speed and FEC of both ends; reseat the cable"),
    "symbol errors": (WARNING, _CLEAN),
    "flapping": (PAGE, _CLEAN),
    "dead subnet manager": (PAGE, "start OpenSM there; nothing is rerouted without one"),
    "silent routing daemon": (PAGE, "restart the daemon that the evidence names"),
    "session down": (PAGE, "look which end shut it and why; 'no shutdown' for the neighbour"),
    "no BFD": (WARNING, f"{_SET}: 'neighbor ... bfd' at the end that the evidence names"),
    "wrong timers": (WARNING, f"{_SET}: timers of BGP and the BFD profile"),
    "blackhole route": (PAGE, _ROUTES),
    "foreign route": (PAGE, _ROUTES),
    "missing routes": (PAGE, "look at the sessions of the switch and of its neighbours"),
    "route policy": (PAGE, f"{_SET}: without the policy that the evidence names"),
    "duplicate GUID": (PAGE, _IDENTITY),
    "duplicate LID": (PAGE, "restart the subnet manager with a sweep: 'kill -HUP'"),
    "duplicate address": (PAGE, _IDENTITY),
    "missing address": (PAGE, "write the address again, as 'netloom deploy render' has it"),
    "unused cable": (WARNING, "let the subnet manager sweep; look at its log"),
    "wrong MTU": (WARNING, f"{_SET}: MTU of both ends"),
    "wrong FEC": (WARNING, f"{_SET}: the same FEC at both ends"),
    "wrong PFC": (PAGE, f"{_SET}: pauses on the lossless class at every port"),
    "wrong DSCP map": (PAGE, f"{_SET}: traffic is in another class than it should be"),
    "ECN cleared": (WARNING, "look for a rule or map there that rewrites the IP header"),
    "DSCP changed": (WARNING, "look for a rule or map there that rewrites the IP header"),
    "no ECN": (WARNING, f"{_SET}: marks on the lossless queue"),
    "port shut": (
        PAGE,
        "ask who shut it; 'no shutdown', or declare it with 'netloom cases maintain'",
    ),
    "divergent routes": (PAGE, "restart zebra: the kernel does not hold what routing decided"),
    "degrading": (WARNING, f"before it drops: {_CLEAN}"),
    "congestion": (WARNING, "look at which jobs share the link; nothing there is broken"),
}


def severity_of(kind: str) -> str:
    """Return ``page`` or ``warning``; the same for a case from its first to its last day."""
    return _KINDS.get(kind, (PAGE, ""))[0]


def remedy_of(kind: str) -> str:
    """Return what to do first."""
    return _KINDS.get(kind, (PAGE, _UNKNOWN))[1]
