"""A gNMI server with OpenConfig's paths, or SONiC's, on a real socket. Not recorded from a device.

Leaves are those of openconfig/public; the numbers are ours.
"""

from __future__ import annotations

import json
import queue
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from netloom.formats.gnmi.messages import path_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

grpc = pytest.importorskip("grpc", reason="needs netloom[gnmi]")
pb = pytest.importorskip("pygnmi.spec.v080.gnmi_pb2", reason="needs netloom[gnmi]")
service = pytest.importorskip("pygnmi.spec.v080.gnmi_pb2_grpc", reason="needs netloom[gnmi]")

IF = "/interfaces/interface[name={}]"
BGP = (
    "/network-instances/network-instance[name=default]/protocols/protocol[identifier=BGP][name=BGP]"
    "/bgp/neighbors/neighbor[neighbor-address=10.0.0.1]/state/session-state"
)


def port_leaves(port: str) -> dict[str, Any]:
    """Return the leaves of a port that is up, as OpenConfig has them."""
    state = f"{IF.format(port)}/state"
    return {
        f"{state}/oper-status": "UP",
        f"{state}/admin-status": "UP",
        f"{state}/mtu": 9214,
        f"{state}/transceiver": f"{port}-optic",
        f"{state}/counters": {
            "in-octets": "1000",
            "out-octets": "2000",
            "in-unicast-pkts": "10",
            "in-multicast-pkts": "2",
            "in-errors": "4",
            "out-discards": "6",
        },
        f"{IF.format(port)}/ethernet/state": {
            "port-speed": "openconfig-if-ethernet:SPEED_400GB",
            "counters": {"in-mac-pause-frames": "7"},
        },
    }


def switch_leaves() -> dict[str, Any]:
    """Return what a small switch has."""
    lldp = "/lldp/interfaces/interface[name=Ethernet1/1]/neighbors/neighbor[id=1]/state"
    optic = "/components/component[name=Ethernet1/1-optic]"
    queues = "/qos/interfaces/interface[interface-id=Ethernet1/1]/output/queues"
    addresses = f"{IF.format('Ethernet1/1')}/subinterfaces/subinterface[index=0]/ipv4/addresses"
    return {
        **port_leaves("Ethernet1/1"),
        **port_leaves("Ethernet2/1"),
        f"{IF.format('Ethernet2/1')}/state/oper-status": "DOWN",
        addresses: {"address": [{"ip": "10.0.0.0", "state": {"prefix-length": 31}}]},
        lldp: {"system-name": "spine1", "port-id": "Ethernet3/1", "port-id-type": "INTERFACE_NAME"},
        BGP: "ACTIVE",
        f"{optic}/transceiver/physical-channels/channel[index=0]/state": {
            "input-power": {"instant": "-1.25"},
            "laser-bias-current": {"instant": "6.75"},
        },
        f"{optic}/state/temperature": {"instant": 40.5},
        f"{optic}/transceiver/state": {"pre-fec-ber": {"instant": "1e-9"}},
        "/components/component[name=Fan1]/state/temperature": {"instant": 30.0},
        f"{queues}/queue[name=UC3]/state": {"transmit-pkts": "70", "dropped-pkts": "8"},
    }


def _covers(asked: list[tuple[str, dict[str, str]]], there: str) -> bool:
    known = path_of(there)
    return len(asked) <= len(known) and all(
        name == other and all(keys.get(k) in {"*", v} for k, v in others.items() if k in keys)
        for (name, keys), (other, others) in zip(asked, known, strict=False)
    )


class GnmiDevice:
    """A device: leaves by path, and what it refuses."""

    def __init__(self, leaves: dict[str, Any]) -> None:
        self.leaves = leaves
        self.tables: dict[tuple[str, str], Any] = {}
        self.refused: set[str] = set()
        self.on_change_refused = False
        self.encodings = [pb.JSON_IETF]
        self.login: tuple[str, str] | None = None
        self.modes: list[dict[str, str]] = []
        self._changes: list[queue.Queue[str | None]] = []
        self._lock = threading.Lock()

    def change(self, path: str, value: Any) -> None:
        """Change a leaf; streams that want changes are told."""
        self.leaves[path] = value
        with self._lock:
            for one in self._changes:
                one.put(path)

    def drop(self) -> None:
        """End all streams, as a device does that restarts its agent."""
        with self._lock:
            for one in self._changes:
                one.put(None)

    def Capabilities(self, _: Any, context: Any) -> Any:  # noqa: N802  (the service's)
        self._check(context)
        return pb.CapabilityResponse(supported_encodings=self.encodings, gNMI_version="0.8.0")

    def Get(self, request: Any, context: Any) -> Any:  # noqa: N802  (the service's)
        self._check(context)
        names = "/".join(one.name for one in request.path[0].elem)
        key = (request.prefix.target, names)
        if key not in self.tables:
            context.abort(grpc.StatusCode.NOT_FOUND, f"no {key[1]}")
        update = pb.Update(path=request.path[0], val=_json(self.tables[key]))
        return pb.GetResponse(notification=[pb.Notification(update=[update])])

    def Subscribe(self, requests: Any, context: Any) -> Iterator[Any]:  # noqa: N802
        self._check(context)
        asked = next(requests).subscribe
        paths = [[(e.name, dict(e.key)) for e in one.path.elem] for one in asked.subscription]
        names = ["/".join(name for name, _ in path) for path in paths]
        on_change = [one.mode == pb.ON_CHANGE for one in asked.subscription]
        if any(name.startswith(word) for name in names for word in self.refused):
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, "path not supported")
        if self.on_change_refused and any(on_change):
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, "ON_CHANGE not supported")
        changes: queue.Queue[str | None] = queue.Queue()
        with self._lock:
            self._changes.append(changes)
        if asked.mode == pb.SubscriptionList.STREAM:
            modes = ["ON_CHANGE" if c else "SAMPLE" for c in on_change]
            self.modes.append(dict(zip(names, modes, strict=True)))
        yield from self._sent(paths)
        yield pb.SubscribeResponse(sync_response=True)
        if asked.mode != pb.SubscriptionList.STREAM:
            return
        every_s = max(one.sample_interval for one in asked.subscription) / 1e9
        sampled = [path for path, c in zip(paths, on_change, strict=True) if not c]
        changing = [path for path, c in zip(paths, on_change, strict=True) if c]
        while context.is_active():
            try:
                path = changes.get(timeout=every_s)
            except queue.Empty:
                yield from self._sent(sampled)
                continue
            if path is None:
                context.abort(grpc.StatusCode.UNAVAILABLE, "agent restarts")
            elif any(_covers(one, path) for one in changing):
                yield from self._sent([path_of(path)])

    def Set(self, _: Any, context: Any) -> Any:  # noqa: N802
        context.abort(grpc.StatusCode.UNIMPLEMENTED, "nothing is to be set")

    def _sent(self, paths: list[list[tuple[str, dict[str, str]]]]) -> Iterator[Any]:
        for there, value in list(self.leaves.items()):
            if any(_covers(path, there) for path in paths):
                elements = [pb.PathElem(name=name, key=keys) for name, keys in path_of(there)]
                update = pb.Update(path=pb.Path(elem=elements), val=self._typed(value))
                yield pb.SubscribeResponse(update=pb.Notification(update=[update]))

    def _typed(self, value: Any) -> Any:
        if self.encodings == [pb.PROTO] and isinstance(value, str):
            return pb.TypedValue(string_val=value)
        if self.encodings == [pb.PROTO] and isinstance(value, int):
            return pb.TypedValue(uint_val=value)
        return _json(value)

    def _check(self, context: Any) -> None:
        said = dict(context.invocation_metadata())
        if self.login and (said.get("username"), said.get("password")) != self.login:
            context.abort(grpc.StatusCode.UNAUTHENTICATED, "wrong password")


def _json(value: Any) -> Any:
    return pb.TypedValue(json_ietf_val=json.dumps(value).encode())


@contextmanager
def serving(device: GnmiDevice, *, port: int = 0, keys: Path | None = None) -> Iterator[int]:
    """Serve a device on a port of this machine; by TLS with the keys of a folder."""
    server = grpc.server(ThreadPoolExecutor(8), options=[("grpc.so_reuseport", 0)])
    service.add_gNMIServicer_to_server(device, server)
    place = f"127.0.0.1:{port}"
    if keys is None:
        number: int = server.add_insecure_port(place)
    else:
        pair = ((keys / "key.pem").read_bytes(), (keys / "cert.pem").read_bytes())
        number = server.add_secure_port(place, grpc.ssl_server_credentials([pair]))
    server.start()
    try:
        yield number
    finally:
        device.drop()
        server.stop(grace=None).wait()
