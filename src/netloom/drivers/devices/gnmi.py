"""gNMI over gRPC: streams that stay open, and single questions; nothing is ever set.

A stream fills a copy of what it subscribed to; a look reads the copy. After a failure it connects
again, each time after twice the rest.
"""

from __future__ import annotations

import os
import threading
import time
import zlib
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from netloom.drivers.devices.streams import split_address
from netloom.errors import LabError, NetloomError, SpecError
from netloom.formats.gnmi.messages import leaves_of, path_of, steps_of, values_of
from netloom.formats.gnmi.openconfig import GROUPS, report_of
from netloom.formats.sonic import gnmi_tables
from netloom.formats.sonic.databases import report_of as sonic_report
from netloom.ops.observe.devices import mapping_of, printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import ExitStack

    from netloom.formats.gnmi.messages import LeafPath
    from netloom.formats.gnmi.openconfig import PathGroup
    from netloom.ops.observe.devices import DeviceAccess, DeviceReport

__all__ = ["GnmiStream", "look_at_sonic", "subscribe"]

PORT: Final = 9339  # IANA's for gnmi-gnoi
MAX_BYTES: Final = 64 * 2**20
MAX_LEAVES: Final = 500_000
FIRST_REST_S, MOST_REST_S = 1.0, 60.0
STALE_SAMPLES: Final = 3.5  # after as long a silence nothing is said of now
LOCAL: Final = frozenset({"127.0.0.1", "::1", "localhost"})
# Dead peers are noticed within some 15 s although nothing is sent.
OPTIONS: Final = (
    ("grpc.max_receive_message_length", MAX_BYTES),
    ("grpc.keepalive_time_ms", 10_000),
    ("grpc.keepalive_timeout_ms", 5_000),
    ("grpc.enable_http_proxy", 0),
)
REFUSALS: Final = frozenset({"INVALID_ARGUMENT", "UNIMPLEMENTED", "NOT_FOUND", "OUT_OF_RANGE"})


def subscribe(
    access: DeviceAccess, closing: ExitStack, *, sample_s: float = 10.0
) -> Callable[[], DeviceReport]:
    """Return what tells the state of a device by OpenConfig's paths; a stream stays open to it.

    Args:
        access: Its address is ``HOST:PORT`` by TLS, or ``http://HOST:PORT`` in the clear.
        closing: Ends the stream.
        sample_s: How often counters come.

    Raises:
        SpecError: the address is none, or gRPC is not installed.
    """
    stream = GnmiStream(access, sample_s)
    closing.callback(stream.close)
    return stream.report


def look_at_sonic(access: DeviceAccess) -> DeviceReport:
    """Return what a SONiC switch's databases say by gNMI's Get.

    Raises:
        LabError: it does not answer in time, or refuses.
    """
    end_s = time.monotonic() + access.deadline_s
    answers: dict[str, Any] = {}
    with _connected(access) as stub:
        for name, (target, text) in gnmi_tables.TABLES.items():
            try:
                answers[name] = _got(stub, access, target, text, end_s - time.monotonic())
            except _RefusedError:
                if name not in gnmi_tables.OPTIONAL:
                    raise
    return sonic_report(gnmi_tables.tables_of(answers))


class _RefusedError(LabError):
    """The device does not have what it was asked for."""


class GnmiStream:
    """A device's leaves, kept up to date by a thread of its own."""

    def __init__(self, access: DeviceAccess, sample_s: float) -> None:
        _place(access)
        _modules()
        self._access, self._sample_s = access, sample_s
        self._lock = threading.Condition()
        self._leaves: dict[LeafPath, Any] = {}
        self._heard_s: float | None = None
        self._error = "not connected yet"
        self._num_failures = 0
        self._groups: Sequence[PathGroup] = GROUPS
        self._on_change = True
        self._call: Any = None
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True, name="netloom-gnmi")
        self._thread.start()

    def report(self) -> DeviceReport:
        """Return what the device says now; the first time, wait for all of it.

        Raises:
            LabError: the stream is broken, or was silent for too long.
        """
        with self._lock:
            self._lock.wait_for(self._is_known, timeout=0.9 * self._access.deadline_s)
            if self._heard_s is None:
                raise LabError(what=f"{self._access.name}: {self._error}")
            age_s = time.monotonic() - self._heard_s
            leaves = dict(self._leaves)
        if age_s > STALE_SAMPLES * self._sample_s:
            message = f"{self._access.name}: the stream has been silent for {age_s:.0f} s"
            raise LabError(message)
        return report_of(leaves)

    def close(self) -> None:
        """End the stream and its thread."""
        self._is_over.set()
        with self._lock:
            if self._call is not None:
                self._call.cancel()
        self._thread.join(timeout=5)

    def _is_known(self) -> bool:
        return self._heard_s is not None or self._num_failures > 0

    def _run(self) -> None:
        while not self._is_over.is_set():
            try:
                self._follow()
                self._failed("the device ended the stream")
            except NetloomError as error:
                self._failed(str(error))
            rest_s = min(MOST_REST_S, FIRST_REST_S * 2.0 ** min(self._num_failures - 1, 20))
            # Devices that failed together do not come back together.
            self._is_over.wait(rest_s * (0.75 + zlib.crc32(self._access.name.encode()) % 250 / 1e3))

    def _failed(self, text: str) -> None:
        with self._lock:
            self._heard_s, self._error = None, printable(text, 300)
            self._num_failures += 1
            self._lock.notify_all()

    def _follow(self) -> None:
        """Subscribe, and take what comes until the stream ends.

        Raises:
            LabError: it broke.
        """
        with _connected(self._access) as stub:
            encoding = _encoding(stub, self._access)
            try:
                self._take(stub, encoding)
            except _RefusedError:
                self._groups = [one for one in GROUPS if self._has(stub, one, encoding)]
                try:
                    self._take(stub, encoding)
                except _RefusedError:
                    self._on_change = False
                    self._take(stub, encoding)

    def _has(self, stub: Any, group: PathGroup, encoding: int) -> bool:
        """Return whether the device has the paths of a group, by asking for them once."""
        if group.is_vital:
            return True
        request = _subscription([group], encoding, mode="ONCE", sample_s=0, on_change=False)
        try:
            with _grpc_errors(self._access):
                call = stub.Subscribe(
                    iter([request]), metadata=_login(self._access), timeout=self._access.deadline_s
                )
                for _ in call:
                    pass
        except _RefusedError:
            return False
        return True

    def _take(self, stub: Any, encoding: int) -> None:
        request = _subscription(
            self._groups,
            encoding,
            mode="STREAM",
            sample_s=self._sample_s,
            on_change=self._on_change,
        )
        asked = threading.Event()
        with _grpc_errors(self._access):
            call = stub.Subscribe(
                _then_wait(request, asked), metadata=_login(self._access), wait_for_ready=False
            )
            with self._lock:
                self._call = call
            try:
                self._fill(call)
            finally:
                asked.set()
                call.cancel()

    def _fill(self, call: Any) -> None:
        """Keep what comes: apart until all was sent once, so that nothing gone stays."""
        arriving: dict[LeafPath, Any] = {}
        is_whole = False
        for response in call:
            if self._is_over.is_set():
                return
            with self._lock:
                _apply(arriving, response)
                if not is_whole and response.sync_response:
                    self._leaves, is_whole = arriving, True
                if is_whole:
                    self._heard_s, self._num_failures = time.monotonic(), 0
                    self._lock.notify_all()


def _apply(leaves: dict[LeafPath, Any], response: Any) -> None:
    if not response.HasField("update"):
        return
    for path in response.update.delete:
        gone = steps_of(response.update.prefix, path)
        for known in [one for one in leaves if one[: len(gone)] == gone]:
            del leaves[known]
    leaves.update(leaves_of(response.update))
    if len(leaves) > MAX_LEAVES:
        message = f"says more than {MAX_LEAVES} things"
        raise LabError(message)


def _then_wait(request: Any, is_over: threading.Event) -> Iterator[Any]:
    """Give a request, and hold the stream open."""
    yield request
    is_over.wait()


def _subscription(
    groups: Sequence[PathGroup], encoding: int, *, mode: str, sample_s: float, on_change: bool
) -> Any:
    pb, _, _ = _modules()
    found = [
        pb.Subscription(
            path=_path(path.text),
            mode=pb.ON_CHANGE if on_change and path.mode == "ON_CHANGE" else pb.SAMPLE,
            sample_interval=int(sample_s * 1e9),
        )
        for group in groups
        for path in group.paths
    ]
    lists = pb.SubscriptionList(
        subscription=found, mode=pb.SubscriptionList.Mode.Value(mode), encoding=encoding
    )
    return pb.SubscribeRequest(subscribe=lists)


def _path(text: str) -> Any:
    pb, _, _ = _modules()
    return pb.Path(elem=[pb.PathElem(name=name, key=keys) for name, keys in path_of(text)])


def _encoding(stub: Any, access: DeviceAccess) -> int:
    """Return the encoding to ask for: JSON_IETF where the device has it, which OpenConfig wants."""
    pb, _, _ = _modules()
    with _grpc_errors(access):
        said = stub.Capabilities(
            pb.CapabilityRequest(), metadata=_login(access), timeout=access.deadline_s
        )
    for known in (pb.JSON_IETF, pb.PROTO, pb.JSON):
        if known in said.supported_encodings:
            return int(known)
    return int(pb.JSON_IETF)


def _got(stub: Any, access: DeviceAccess, target: str, text: str, left_s: float) -> Any:
    """Return the JSON of one of SONiC's paths."""
    pb, _, _ = _modules()
    if left_s <= 0:
        message = f"{access.name}: no whole answer within {access.deadline_s:g} s"
        raise LabError(message)
    elements = [pb.PathElem(name=name) for name in text.split("/")]
    request = pb.GetRequest(
        prefix=pb.Path(target=target), path=[pb.Path(elem=elements)], encoding=pb.JSON_IETF
    )
    with _grpc_errors(access):
        said = stub.Get(request, metadata=_login(access), timeout=left_s)
    return _trees(said)


def _trees(said: Any) -> dict[str, Any]:
    """Return the objects of an answer joined."""
    found: dict[str, Any] = {}
    for notification in said.notification:
        for value in values_of(notification):
            found |= mapping_of(value)
    return found


def _place(access: DeviceAccess) -> tuple[str, bool]:
    """Return where a device answers, and whether by TLS.

    Raises:
        SpecError: its address is none, or would send a secret in the clear.
    """
    is_clear = access.address.startswith("http://")
    text = access.address.removeprefix("http://").removeprefix("https://").rstrip("/")
    try:
        host, port = split_address(text, PORT)
    except LabError as error:
        raise SpecError(key="address", what=str(error), remedy="write HOST:PORT") from error
    if is_clear and access.secret is not None and host not in LOCAL:
        raise SpecError(
            key="address",
            what=f"{access.name}: a secret is not sent in the clear",
            remedy="leave http:// away, and give a certificate",
        )
    return (f"[{host}]:{port}" if ":" in host else f"{host}:{port}"), not is_clear


@contextmanager
def _connected(access: DeviceAccess) -> Iterator[Any]:
    """Give the calls of a device's gNMI service.

    Raises:
        LabError: the authority's file cannot be read.
    """
    _, service, grpc = _modules()
    place, is_safe = _place(access)
    if is_safe:
        roots = None
        if access.certificate is not None:
            try:
                roots = access.certificate.read_bytes()
            except OSError as error:
                raise LabError(
                    what=f"{access.certificate}: cannot be read ({error.strerror})",
                    remedy="name a PEM file with the authority's certificate",
                ) from error
        credentials = grpc.ssl_channel_credentials(root_certificates=roots)
        channel = grpc.secure_channel(place, credentials, options=OPTIONS)
    else:
        channel = grpc.insecure_channel(place, options=OPTIONS)
    try:
        yield service.gNMIStub(channel)
    finally:
        channel.close()


def _login(access: DeviceAccess) -> list[tuple[str, str]]:
    """Return user and password as gNMI's authentication document has them."""
    if access.secret is None:
        return []
    return [("username", access.user), ("password", access.secret.reveal())]


@contextmanager
def _grpc_errors(access: DeviceAccess) -> Iterator[None]:
    """Let what gRPC complains about be told as netloom tells it."""
    _, _, grpc = _modules()
    try:
        yield
    except grpc.RpcError as error:
        code, details = "UNKNOWN", ""
        with suppress(AttributeError):
            code, details = error.code().name, str(error.details() or "")
        kind = _RefusedError if code in REFUSALS else LabError
        raise kind(
            what=f"{access.name}: gNMI answers {code} ({printable(details, 160)})",
            remedy="check address, certificate and credentials",
        ) from None


def _modules() -> tuple[Any, Any, Any]:
    """Return the protocol's messages, its service, and gRPC.

    Raises:
        SpecError: they are not installed.
    """
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")  # or its own lines come between the log's
    try:
        return (
            import_module("pygnmi.spec.v080.gnmi_pb2"),
            import_module("pygnmi.spec.v080.gnmi_pb2_grpc"),
            import_module("grpc"),
        )
    except ImportError as error:
        raise SpecError(
            what="gNMI needs gRPC, which is not installed",
            remedy="pip install 'netloom[gnmi]'",
        ) from error
