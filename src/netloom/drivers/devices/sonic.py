"""SONiC: its Redis databases, read with a connection of one look; nothing is ever written."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from netloom.drivers.devices.streams import Deadline, connected
from netloom.errors import LabError
from netloom.formats.sonic.databases import SonicTables, report_of
from netloom.formats.sonic.quality_tables import QUALITY_TABLES
from netloom.formats.sonic.redis_protocol import command, pairs_of, read_reply, texts_of
from netloom.ops.observe.devices import DeviceReport

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from netloom.drivers.devices.streams import Stream
    from netloom.formats.sonic.redis_protocol import Reply
    from netloom.ops.observe.devices import DeviceAccess

__all__ = ["look"]

PORT: Final = 6379
TLS: Final = "rediss://"
MAX_BYTES: Final = 64 * 2**20  # 512 ports with 10 queues are some 10 MB
MAX_KEYS: Final = 100_000
BATCH: Final = 200  # commands on their way before replies are read
# sonic-swss-common, database_config.json
APPL_DB, COUNTERS_DB, CONFIG_DB, STATE_DB = "0", "2", "4", "6"


def look(access: DeviceAccess) -> DeviceReport:
    """Return what a switch's databases say now.

    Its address is ``HOST:PORT``, ``rediss://HOST:PORT`` by TLS, or the path of Redis' socket on the
    switch itself. A switch of several ASICs has a Redis in the namespace of each: its address is
    theirs, with commas between.

    Raises:
        LabError: it does not answer in time, refuses, or is no SONiC.
    """
    deadline = Deadline(access.deadline_s)
    places = [place.strip() for place in access.address.split(",")]
    reports = [_report(replace(access, address=place), deadline) for place in places]
    return reports[0] if len(reports) == 1 else _joined(reports)


def _report(access: DeviceAccess, deadline: Deadline) -> DeviceReport:
    is_tls = access.address.startswith(TLS)
    place = replace(access, address=access.address.removeprefix(TLS))
    with connected(
        place, port=PORT, max_bytes=MAX_BYTES, deadline=deadline, is_tls=is_tls
    ) as stream:
        redis = _Redis(stream)
        if access.secret is not None:
            words = [access.user] if access.user else []
            redis.call("AUTH", *words, access.secret.reveal())
        return report_of(_tables(redis))


def _joined(reports: Sequence[DeviceReport]) -> DeviceReport:
    """Return what the ASICs of a switch say together: names of ports are those of the switch."""
    return DeviceReport(
        values=[one for report in reports for one in report.values],
        neighbours=[one for report in reports for one in report.neighbours or ()],
        aliases={port: alias for one in reports for port, alias in one.aliases.items()},
        missing="; ".join(dict.fromkeys(one.missing for one in reports if one.missing)),
    )


def _tables(redis: _Redis) -> SonicTables:
    redis.call("SELECT", CONFIG_DB)
    keys = redis.keys("*|*")
    ports = [key.split("|", 1)[1] for key in keys if key.startswith("PORT|")]
    if not ports:
        raise LabError(what="CONFIG_DB has no PORT table", remedy="is this a SONiC switch?")
    configured = redis.rows({port: f"PORT|{port}" for port in ports})
    quality = {
        table: redis.rows(
            {key.partition("|")[2]: key for key in keys if key.startswith(f"{table}|")}
        )
        for table in QUALITY_TABLES
    }
    addresses = [key.split("|") for key in keys if key.startswith("INTERFACE|")]
    about = redis.rows({"": "DEVICE_METADATA|localhost", "schema": "VERSIONS|DATABASE"})
    redis.call("SELECT", COUNTERS_DB)
    oids = pairs_of(redis.call("HGETALL", "COUNTERS_PORT_NAME_MAP"))
    queues = pairs_of(redis.call("HGETALL", "COUNTERS_QUEUE_NAME_MAP"))
    counters = redis.rows({port: f"COUNTERS:{oid}" for port, oid in oids.items()})
    rates = redis.rows({port: f"RATES:{oid}" for port, oid in oids.items()})
    by_queue = redis.rows({queue: f"COUNTERS:{oid}" for queue, oid in queues.items()})
    redis.call("SELECT", APPL_DB)
    applied = redis.rows({port: f"PORT_TABLE:{port}" for port in ports})
    neighbours = redis.rows({port: f"LLDP_ENTRY_TABLE:{port}" for port in ports})
    redis.call("SELECT", STATE_DB)
    return SonicTables(
        configured=configured,
        applied=applied,
        state=redis.rows({port: f"PORT_TABLE|{port}" for port in ports}),
        counters=counters,
        rates=rates,
        queues=by_queue,
        optics=redis.rows({port: f"TRANSCEIVER_DOM_SENSOR|{port}" for port in ports}),
        neighbours=neighbours,
        sessions=redis.rows(
            {key.rpartition("|")[2]: key for key in redis.keys("NEIGH_STATE_TABLE|*")}
        ),
        addresses=tuple((key[1], key[2]) for key in addresses if len(key) == 3),
        metadata={key: text for row in about.values() for key, text in row.items()},
        firmware=redis.rows({port: f"TRANSCEIVER_FIRMWARE_INFO|{port}" for port in ports}),
        quality=quality,
    )


class _Redis:
    """A connection that asks."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream

    def call(self, *words: str) -> Reply:
        """Return the reply to a command."""
        self._stream.send(command(*words))
        return read_reply(self._stream)

    def rows(self, keys: Mapping[str, str]) -> dict[str, Mapping[str, str]]:
        """Return the fields of hashes, by the names in *keys*; what is not there is left out."""
        names = list(keys)
        found: dict[str, Mapping[str, str]] = {}
        for start in range(0, len(names), BATCH):
            some = names[start : start + BATCH]
            rows = self._batch([keys[name] for name in some])
            found |= {name: row for name, row in zip(some, rows, strict=True) if row}
        return found

    def _batch(self, keys: Sequence[str]) -> Iterator[Mapping[str, str]]:
        self._stream.send(b"".join(command("HGETALL", key) for key in keys))
        for _ in keys:
            yield pairs_of(read_reply(self._stream))

    def keys(self, pattern: str) -> list[str]:
        """Return the keys that match, in small steps: KEYS would stop the switch's own clients.

        Raises:
            LabError: there are too many.
        """
        found: dict[str, None] = {}
        cursor = "0"
        while True:
            reply = self.call("SCAN", cursor, "MATCH", pattern, "COUNT", "1000")
            if not (isinstance(reply, list) and len(reply) == 2 and isinstance(reply[0], bytes)):
                message = "SCAN: the reply is not a cursor and keys"
                raise LabError(message)
            found |= dict.fromkeys(texts_of(reply[1]))
            cursor = reply[0].decode("ascii", "replace")
            if len(found) > MAX_KEYS:
                message = f"more than {MAX_KEYS} keys match {pattern!r}"
                raise LabError(message)
            if cursor == "0":
                return list(found)
