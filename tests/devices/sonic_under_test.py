"""A switch's databases as SONiC's own sources write them. Not recorded from a device.

Tables and fields are those that sonic-swss, xcvrd, lldp_syncd and bgpmon write, as their sources
and sonic-utilities' mock tables have them; the numbers are ours.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from netloom.ops.plant import Plant

APPL_DB, COUNTERS_DB, CONFIG_DB, STATE_DB = 0, 2, 4, 6
LANES = 8


@dataclass
class SonicSwitch:
    """Hashes by database and key."""

    hostname: str
    tables: dict[tuple[int, str], dict[str, str]] = field(default_factory=dict)

    def put(self, database: int, key: str, **row: str | float) -> None:
        kept = self.tables.setdefault((database, key), {})
        kept |= {name: str(value) for name, value in row.items()}

    def add_port(self, number: int, *, speed_bps: float, peer: tuple[str, int] | None) -> None:
        """Put in a port that is up, with everything a healthy one has."""
        port, oid = port_label(number), f"oid:0x10000000{number:05x}"
        megabits = round(speed_bps / 1e6)
        self.put(CONFIG_DB, f"PORT|{port}", alias=f"etp{number}", admin_status="up", mtu=9100)
        self.put(APPL_DB, f"PORT_TABLE:{port}", mtu=9100, speed=megabits)
        self.set_port(number, oper_status="up", admin_status="up")
        self.put(STATE_DB, f"PORT_TABLE|{port}", state="ok", speed=megabits, fec="rs")
        self.put(COUNTERS_DB, "COUNTERS_PORT_NAME_MAP", **{port: oid})
        self.put(COUNTERS_DB, f"COUNTERS:{oid}", **_healthy(number))
        self.put(COUNTERS_DB, f"RATES:{oid}", FEC_PRE_BER="1.7e-09", FEC_POST_BER="0")
        optics = {f"rx{lane}power": "-1.25" for lane in range(1, 5)}
        optics |= {f"tx{lane}bias": "6.75" for lane in range(1, 5)}
        sensor = f"TRANSCEIVER_DOM_SENSOR|{port}"
        self.put(STATE_DB, sensor, temperature="41.5", voltage="3.28", tx1power="N/A", **optics)
        for queue in (0, 3):
            queue_oid = f"oid:0x15000000{number:04x}{queue}"
            self.put(COUNTERS_DB, "COUNTERS_QUEUE_NAME_MAP", **{f"{port}:{queue}": queue_oid})
            self.put(
                COUNTERS_DB,
                f"COUNTERS:{queue_oid}",
                SAI_QUEUE_STAT_PACKETS=1000 * number,
                SAI_QUEUE_STAT_DROPPED_PACKETS=0,
                SAI_QUEUE_STAT_SHARED_WATERMARK_BYTES=4096 * queue,
                SAI_QUEUE_STAT_WRED_ECN_MARKED_PACKETS=17 * queue,
            )
        if peer:
            self.see(number, *peer)

    def see(self, number: int, device: str, port: int) -> None:
        """Let a port see a port of another switch, by the name on its panel."""
        self.put(
            APPL_DB,
            f"LLDP_ENTRY_TABLE:{port_label(number)}",
            lldp_rem_sys_name=device,
            lldp_rem_port_id_subtype=5,
            lldp_rem_port_id=f"etp{port}",
            lldp_rem_port_desc=port_label(port),
            lldp_rem_chassis_id="00:11:22:33:44:55",
        )

    def set_port(self, number: int, **row: str) -> None:
        self.put(APPL_DB, f"PORT_TABLE:{port_label(number)}", **row)

    def count(self, number: int, **counts: int) -> None:
        row = {f"SAI_PORT_STAT_{name}": value for name, value in counts.items()}
        self.put(COUNTERS_DB, f"COUNTERS:oid:0x10000000{number:05x}", **row)

    def commands(self) -> Iterator[tuple[str, ...]]:
        """Give what loads the tables into Redis."""
        for (database, key), row in self.tables.items():
            yield "SELECT", str(database)
            yield "HSET", key, *(word for pair in row.items() for word in pair)


def _healthy(number: int) -> dict[str, int]:
    names = {
        "IF_IN_OCTETS": 10_000_000 * number,
        "IF_OUT_OCTETS": 20_000_000 * number,
        "IF_IN_UCAST_PKTS": 10_000 * number,
        "IF_IN_NON_UCAST_PKTS": 10,
        "IF_OUT_UCAST_PKTS": 20_000 * number,
        "IF_OUT_NON_UCAST_PKTS": 20,
        "IF_IN_ERRORS": 0,
        "IF_OUT_ERRORS": 0,
        "IF_IN_DISCARDS": 0,
        "IF_OUT_DISCARDS": 0,
        "IF_IN_FEC_CORRECTABLE_FRAMES": 4321,
        "IF_IN_FEC_NOT_CORRECTABLE_FRAMES": 0,
        "IF_IN_FEC_SYMBOL_ERRORS": 4400,
        "PFC_3_RX_PKTS": 30 + number,
        "PFC_3_TX_PKTS": 40 + number,
    }
    return {f"SAI_PORT_STAT_{name}": value for name, value in names.items()}


def port_label(number: int) -> str:
    return f"Ethernet{LANES * (number - 1)}"


def switches_of(plant: Plant) -> dict[str, SonicSwitch]:
    """Return every switch of a design as SONiC would show it, healthy; by our name."""
    found = {one.name: SonicSwitch(hostname_of(one.name)) for one in plant.switches}
    for cable in plant.cables:
        for here, there in (cable.ends, cable.ends[::-1]):
            name, other = plant.devices[here.device].name, plant.devices[there.device].name
            if name in found:
                peer = (hostname_of(other), there.number) if other in found else None
                found[name].add_port(here.number, speed_bps=cable.rate_bps, peer=peer)
    return found


def hostname_of(name: str) -> str:
    return name.replace(":", "")
