"""sFlow: one socket hears all switches; each is kept by the address that it gives itself.

UDP proves no sender: let only the management network reach the port.
"""

from __future__ import annotations

import socket
import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from netloom.drivers.devices.streams import split_address
from netloom.errors import LabError, NetloomError, SpecError
from netloom.formats.sflow.datagram import parse_datagram
from netloom.ops.observe.devices import DeviceReport, printable

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import ExitStack

    from netloom.ops.observe.devices import DeviceAccess, PortValue

__all__ = ["listen"]

PORT: Final = 6343
STALE_S: Final = 90.0  # switches send counters every 20 to 30 s
MAX_PORTS: Final = 4096
WAIT_S: Final = 0.2


@dataclass(slots=True)
class _Agent:
    """What one switch said last: by port and metric, and when it last said anything."""

    values: dict[tuple[str, str], PortValue] = field(default_factory=dict)
    heard_s: float | None = None


class _Listener:
    """A socket and the thread that reads it; only agents that are expected are kept."""

    def __init__(self, host: str, port: int) -> None:
        self.num_users = 0
        self._agents: dict[str, _Agent] = {}
        self._lock = threading.Lock()
        self._is_over = threading.Event()
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._socket = socket.socket(family, socket.SOCK_DGRAM)
        try:
            self._socket.bind((host, port))
        except OSError as error:
            self._socket.close()
            raise SpecError(
                what=f"sFlow cannot listen on {host}:{port} ({error.strerror})",
                remedy="choose another address or port",
            ) from error
        self._socket.settimeout(WAIT_S)
        self._thread = threading.Thread(target=self._read, daemon=True, name="netloom-sflow")
        self._thread.start()

    def expect(self, agent: str) -> None:
        with self._lock:
            self._agents.setdefault(agent, _Agent())

    def report(self, agent: str) -> DeviceReport:
        with self._lock:
            known = self._agents[agent]
            values, heard_s = list(known.values.values()), known.heard_s
        if heard_s is None or time.monotonic() - heard_s > STALE_S:
            raise LabError(
                what=f"no counters from sFlow agent {agent} for {STALE_S:.0f} s",
                remedy="let the switch send them here, every 30 s at least",
            )
        return DeviceReport(values=values)

    def close(self) -> None:
        self._is_over.set()
        self._thread.join()
        self._socket.close()

    def _read(self) -> None:
        while not self._is_over.is_set():
            try:
                said = parse_datagram(self._socket.recv(65_536))
            except TimeoutError:
                continue
            except (OSError, NetloomError):
                continue  # what is no sFlow is not ours
            with self._lock:
                known = self._agents.get(said.agent)
                if known is not None and said.values:
                    _keep(known, said.values)


def _keep(known: _Agent, values: tuple[PortValue, ...]) -> None:
    known.heard_s = time.monotonic()
    known.values |= {(one.port, one.metric): one for one in values}
    if len({port for port, _ in known.values}) > MAX_PORTS:
        known.values.clear()


_listeners: Final[dict[tuple[str, int], _Listener]] = {}


def listen(access: DeviceAccess, closing: ExitStack) -> Callable[[], DeviceReport]:
    """Return what tells the last counters of a switch.

    Args:
        access: Its address is that of the agent, ``10.0.0.11``, perhaps with where to listen
            behind it: ``10.0.0.11@127.0.0.1:6343``.
        closing: Closes the socket when its last user is gone.

    Raises:
        SpecError: the address is none, or nothing can listen there.
    """
    agent, _, place = access.address.partition("@")
    try:
        key = split_address(place or "0.0.0.0", PORT)  # noqa: S104  (switches are elsewhere)
    except LabError as error:
        raise SpecError(key="address", what=str(error), remedy="write AGENT@HOST:PORT") from error
    if not agent:
        raise SpecError(
            key="address",
            what=f"{printable(access.address)!r} names no agent",
            remedy="write such as 10.0.0.11",
        )
    if key not in _listeners:
        _listeners[key] = _Listener(*key)
    listener = _listeners[key]
    listener.num_users += 1
    listener.expect(agent)
    closing.callback(_release, key)
    return lambda: listener.report(agent)


def _release(key: tuple[str, int]) -> None:
    listener = _listeners[key]
    listener.num_users -= 1
    if not listener.num_users:
        del _listeners[key]
        listener.close()
