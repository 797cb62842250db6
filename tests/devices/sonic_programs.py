"""The programs of a SONiC switch that netloom calls, over its databases in a real redis-server.

Not recorded from a device: ``config`` takes checkpoints, patches and rollbacks as sonic-utilities
documents them, and a port that is shut takes the link with it at both ends. ``systemd-run`` keeps
its timers as files; a test lets them run out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ssh_under_test import write_program

if TYPE_CHECKING:
    from pathlib import Path

CONFIG = r"""#!/usr/bin/python3 -SE
import json, os, pathlib, subprocess, sys

state = pathlib.Path(os.environ["SWITCH_STATE"])
FIELDS = {"PORT": "admin_status", "BGP_DEVICE_GLOBAL": "tsa_enabled"}


def redis(port, base, *words):
    argv = ["redis-cli", "-p", str(port), "-n", str(base), "--raw", *words]
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout.strip()


def own(base, *words):
    return redis(os.environ["REDIS_PORT"], base, *words)


def put(table, key, value):
    own(4, "HSET", f"{table}|{key}", FIELDS[table], value)
    if table == "PORT" and not (state / "stuck").exists():
        own(0, "HSET", f"PORT_TABLE:{key}", "admin_status", value, "oper_status", value)
        peer = json.loads((state / "peers.json").read_text()).get(key)
        if peer:
            redis(peer[0], 0, "HSET", f"PORT_TABLE:{peer[1]}", "oper_status", value)


def settings():
    keys = own(4, "KEYS", "PORT|*").split() + ["BGP_DEVICE_GLOBAL|STATE"]
    return {key: own(4, "HGET", key, FIELDS[key.partition("|")[0]]) for key in keys}


def main(verb, name):
    kept = state / f"{name}.cp.json" if verb != "apply-patch" else None
    if (state / "broken").exists() and verb == "apply-patch":
        sys.exit("Failed to apply patch due to: Data Loading Failed")
    if verb == "checkpoint":
        kept.write_text(json.dumps(settings()))
    elif verb == "rollback":
        now = settings()
        for key, value in json.loads(kept.read_text()).items():
            if value != now[key]:
                put(*key.split("|"), value)
    elif verb == "delete-checkpoint":
        kept.unlink()
    elif verb == "apply-patch":
        for one in json.loads(open(name).read()):
            _, table, key, field = one["path"].split("/")
            assert one["op"] in ("add", "replace") and field == FIELDS[table], one
            put(table, key, one["value"])
    else:
        sys.exit(f"no such command {verb}")


main(*sys.argv[1:])
"""
SYSTEMD_RUN = """#!/bin/sh
unit=${1#--unit=}
shift 2
echo "$@" > $SWITCH_STATE/$unit.timer
"""
SYSTEMCTL = """#!/bin/sh
case "$1" in
is-active) test -e $SWITCH_STATE/$2 && echo active || { echo inactive; exit 3; } ;;
stop) rm $SWITCH_STATE/$2 ;;
esac
"""
SUDO = """#!/bin/sh
test "$1" = -n && shift
exec "$@"
"""
DB_CLI = """#!/bin/sh
test "$1" = CONFIG_DB || exit 1
shift
exec redis-cli -p $REDIS_PORT -n 4 --raw "$@"
"""


def write_sonic_programs(folder: Path) -> Path:
    folder.mkdir()
    texts = {
        "config": CONFIG,
        "systemd-run": SYSTEMD_RUN,
        "systemctl": SYSTEMCTL,
        "sudo": SUDO,
        "sonic-db-cli": DB_CLI,
    }
    for name, text in texts.items():
        write_program(folder / name, text)
    return folder
