"""Write the JSON schema of every command's result from real outputs.

    python tools/json_schemas.py [--netloom PROGRAM] [--labs]

Each command is run on several small cases; what its outputs have in common becomes the schema in
``src/netloom/results/schemas.json``: a key that every output has is required, a value that is once
null may be null, and an object is closed unless its keys are names (:data:`NAMED`). With
``--labs`` commands that need a lab run one (ibsim and OpenSM); else their schemas stay as they are.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from shutil import copyfile
from typing import Any, Final

from netloom.fabric.part_id import PartId
from netloom.ops.observe.cases import Case, CaseChange, follow_cases, write_cases
from netloom.ops.observe.store import ObservationStore

ROOT: Final = Path(__file__).parents[1]
FILE: Final = ROOT / "src/netloom/results/schemas.json"
CALIBRATE: Final = " ".join(map(str, sorted(ROOT.glob("tests/data/calibrate/*.log"))))
POLARIS: Final = """
cluster: {nodes: 64, node: polaris, fabric: {technology: slingshot-11}}
job: {model: llama-2-7b, training: {sequence: 4096, global_batch: 256}}
"""
GPT: Final = """
cluster: {gpus: 64, node: dgx-a100, fabric: {technology: infiniband-hdr}}
job:
  model: gpt-3-175b
  training: {sequence: 2048, global_batch: 64, precision: bf16, recompute: full}
  parallel: {tensor: 8, pipeline: 8}
compare: [infiniband-hdr, rocev2-200g, tcp-400g]
"""
ROCE: Final = """
cluster: {nodes: 4, node: dgx-h100, fabric: {technology: rocev2-400g}}
job: {model: llama-2-7b, training: {sequence: 4096, global_batch: 64}}
"""
ZERO_TOUCH: Final = f"""{ROCE}
site:
  management: {{network: 10.0.0.0/24, gateway: 10.0.0.1}}
  zero_touch: {{url: "http://10.0.0.2"}}
"""
JOBS: Final = """
cluster: {nodes: 4, node: dgx-h100, fabric: {technology: infiniband-ndr}}
jobs:
  - {name: a, nodes: 2, job: &job {model: llama-2-7b, training: {sequence: 4096, global_batch: 64}}}
  - {name: b, nodes: 2, job: *job}
"""
STEP: Final = """
cluster: {nodes: 4, node: dgx-h100, fabric: {technology: rocev2-400g}}
job:
  model: llama-3.2-1b
  training: {sequence: 2048, global_batch: 8}
  parallel: {tensor: 8, pipeline: 2}
"""
TREE: Final = """
cluster: {nodes: 2, node: dgx-h100, fabric: {technology: infiniband-ndr}}
job: {model: llama-2-7b, training: {sequence: 4096, global_batch: 64}}
"""
MIXTURE: Final = """
cluster: {gpus: 64, node: dgx-h100,
          fabric: {technology: rocev2-400g,
                   topology: {kind: fat-tree, tiers: 2, hosts_per_leaf: 16}}}
job: {model: mixtral-8x7b, training: {sequence: 4096, global_batch: 64},
      parallel: {tensor: 2, pipeline: 2, data: 16, expert: 8}}
"""
_MET: Final = "{model: llama-3.1-8b, training: {global_batch: 64}, parallel: {tensor: 1, zero: 3}}"
MEETING: Final = f"""
cluster: {{gpus: 64, node: dgx-h100,
          fabric: {{technology: rocev2-400g, topology:
                   {{kind: fat-tree, tiers: 2, hosts_per_leaf: 32, oversubscription: 2}}}}}}
jobs:
  - {{name: a, nodes: 4, placement: {{kind: random, seed: 1}}, job: {_MET}}}
  - {{name: b, nodes: 4, placement: {{kind: random, seed: 2}}, job: {_MET}}}
"""
ALONE: Final = """
cluster: {nodes: 2, node: dgx-h100, fabric: {technology: infiniband-ndr}}
"""
UNSHAPED: Final = """
cluster: {nodes: 4, node: dgx-h100, fabric: {technology: rocev2-400g}}
sites: [{name: a, nodes: 2}, {name: b, nodes: 2}]
spans:
  - between: [a, b]
    length: 4000km
    regenerators: 4
    waves: {count: 2, rate: 100Gbps}
    carried_by: {kind: tsn}
    classes: [{name: gradients, priority: 3, share: 0.8, deadline: 30ms}]
    streams: [{name: clock, period: 125us, size: 128B, deadline: 30ms}]
    protection: {kind: frer, length: 4500km}
job:
  model: llama-2-7b
  training: {sequence: 4096, global_batch: 64}
  parallel: {tensor: 1, pipeline: 4, across: pipeline}
"""
# A device that does not answer: what is said of it has every key.
FLEET: Final = """
devices: [{name: leaf01, kind: sonic, address: "127.0.0.1:1", part: "leaf:0"}]
"""
# Sizes in MiB with times in us, in the columns of nccl-tests: of sockets, and of a sound network.
LOGS: Final = {
    "slow": ((1, 1200.0), (256, 80_000.0), (1024, 320_000.0)),
    "fine": ((256, 1274.0), (512, 2258.0), (1024, 4225.0)),
}
LOG_HEAD: Final = """all_reduce_perf
# size count type redop root time algbw busbw #wrong time algbw busbw #wrong
# (B) (elements) (us) (GB/s) (GB/s) (us) (GB/s) (GB/s)
"""
SWEEP: Final = """
question: predict
base: gpt.yaml
grid: {cluster.fabric.technology: [infiniband-hdr, rocev2-200g]}
"""
SEEDS: Final = """
question: simulate
base: incast.yaml
options: {engine: flow}
grid: {seed: [0, 1]}
"""
LOG: Final = """
 iteration 3/ 9 | elapsed time per iteration (ms): 9100.0 |
    forward-compute ....: (2500.00, 2600.00)
"""
CASES: Final[dict[str, list[str]]] = {
    "compare": [
        *("gpt.yaml", "roce.yaml", "roce.yaml --engine flow --seeds 2"),
        "roce.yaml --chips --architectures roce-ecmp,radix-512,scheduled-cells,ualink-scale-up",
        "roce.yaml --chips --ceiling",
    ],
    "predict": [
        "gpt.yaml",
        "roce.yaml --engine flow --seeds 2",
        "roce.yaml --engine flow --seeds 1",
    ],
    "explain": ["gpt.yaml --measured 60s", "tree.yaml --trace a.json.gz", "gpt.yaml --log run.log"],
    "plan": [
        *("gpt.yaml", "roce.yaml --objective cost", "gpt.yaml --gpus 64,128"),
        *("gpt.yaml --topologies search", "roce.yaml --topologies search"),
    ],
    "infer": ["", "serving.yaml", "images.yaml"],
    "expect": ["alone.yaml", "alone.yaml --against slow.log", "alone.yaml --against fine.log"],
    "headroom": ["roce.yaml", "", "--settings meta-400g"],
    "goodput": ["gpt.yaml", "", "spares.yaml"],
    "tune": [
        "incast.yaml --budget 4 --seeds 2 --over ecn",
        "mixture.yaml --stages --seeds 2",
        "meeting.yaml",
    ],
    "span": ["", "continents.yaml", "unshaped.yaml"],
    "whatif": ["gpt.yaml --fail node:0", "roce.yaml --slow nic:1=2", "roce.yaml --rank leaf"],
    "roll": ["tree.yaml", "roce.yaml --at-once 2"],
    "share": ["jobs.yaml", "finish.yaml"],
    "place": ["gpt.yaml --nodes 8", "roce.yaml --nodes 2 --occupied 0.4"],
    "size": [
        "--gpus 1024",
        "--gpus 512 --topology torus",
        "--gpus 2048 --topology dragonfly-plus",
        "--gpus 4096 --topology multi-plane",
        "--gpus 4096 --topology rail-only",
    ],
    "sweep": ["sweep.yaml --store one.db", "sweep-seeds.yaml --store two.db"],
    "catalog": ["", "switches", "QM9700", "dgx-h100", "nodes", "models"],
    "validate": [
        *("gpu-steps", "steps --rows", "collectives --rows", "layers --rows", "span --rows"),
        "chips --rows",
        "",
    ],
    "trace write": ["gpt.yaml --out traces --ranks 4"],
    "trace read": ["traces/step"],
    "calibrate network": [
        f"{CALIBRATE} --node polaris --technology slingshot-11 --catalog own.toml",
        f"{CALIBRATE} --scenario polaris.yaml",
    ],
    "convert": [
        "llama3_8b.sh",
        "mixtral.args --gpus 64 --vocabulary 50000 --out converted.yaml",
        "deepseek_v3.yaml --gpus 1024",
        "llama3_405b.toml --gpus 8",
    ],
    "check": ["gpt.yaml"],
    "example": ["", "--names", "sweep"],
    "simulate": [
        "",
        "--engine flow",
        "--seeds 2",
        "--until 20us",
        "victim.yaml",
        "step.yaml --step",
    ],
    "diff": ["gpt.yaml roce.yaml", "a.json b.json", "gpt.yaml gpt.yaml", "gpt.yaml bad.yaml"],
    "doctor": [""],
    "cases list": ["--store watch.db --since 10000d"],
    "cases show": ["1 --store watch.db"],
    "cases ack": ["1 --by mona --store watch.db"],
    "cases assign": ["1 ravi --by mona --store watch.db"],
    "cases comment": ["1 ordered --by mona --store watch.db"],
    "cases maintain": ["leaf:0 --to +2h --reason optics --by mona --store watch.db"],
    "cases audit": ["--since 10000d --store watch.db"],
    "cases backup": ["copy.db --store watch.db"],
    "cases close": ["1 --by mona --store watch.db"],
    "deploy render": ["tree.yaml --out rendered", "roce.yaml --out rendered-roce"],
    "deploy check": ["tree.yaml", "roce.yaml", "rendered-roce"],
    "deploy ztp": ["zero-touch.yaml --macs macs.csv --out day0"],
    "deploy plan": ["roce.yaml --running rendered-roce", "tree.yaml --running rendered"],
}
LABS: Final = (
    ("lab up", "tree.yaml --name schemas --dir labs"),
    ("lab status", "schemas --dir labs"),
    ("lab status", "--dir labs"),
    ("deploy plan", "tree.yaml --lab schemas --dir labs"),
    ("deploy apply", "tree.yaml --lab schemas --dir labs"),
    ("audit", "tree.yaml --lab schemas --dir labs"),
    ("lab fault", "schemas unlink cable:32 --dir labs"),
    ("lab status", "schemas --dir labs"),
    ("locate", "tree.yaml --lab schemas --dir labs"),
    ("audit", "tree.yaml --lab schemas --dir labs"),
    ("watch", "tree.yaml --lab schemas --dir labs --once --store seen.db"),
    ("watch", "tree.yaml --inventory fleet.yaml --once --store asked.db"),
    ("heal", "tree.yaml --lab schemas --dir labs"),
    ("lab down", "schemas --dir labs"),
)
# Objects whose keys are names: of tiers, jobs, parts, settings; any key may stand there.
NULLABLE: Final = frozenset({"interval"})  # where no measured step is near enough
NAMED: Final = frozenset(
    (
        *("switches_by_tier", "cables_by_stage", "transceivers_by_level", "settings", "left_out"),
        *("step_time_s", "values", "operations", "breakdown_s", "communication_s", "lost"),
        *("scenario", "topology", "serving", "skipped", "refused", "loop_runs", "prefill_s"),
        *("power_by_part_w", "decode_s", "over_seeds", "result", "evidence", "counters"),
        *("model", "parts_usd", "systems"),
    )
)
# Results with further keys: counters of engines, suites that take minutes, evidence by kind.
OPEN: Final = frozenset(
    {"simulate", "validate", "locate", "watch", "heal", "audit", "deploy check", "deploy apply"}
)
UNITS: Final = ("_s", "_bps", "_gbps", "_bytes", "_usd", "_w", "_m", "_pct", "_share", "_per_day")
# Results of several shapes, which their keys tell apart.
SHAPED: Final = frozenset({"whatif", "example", "infer", "lab status", "compare", "plan", "tune"})
TEXT: Final = {"type": "string"}
TEXTS: Final = {"type": "object", "additionalProperties": TEXT}


def schema_of(command: str, results: list[Any]) -> dict[str, Any]:
    """Return the schema that all results of a command satisfy."""
    if command == "catalog":
        return _catalog([one for one in results if {"kinds", "parts"} & one.keys()])
    if command == "validate":
        suites = [x for one in results for x in ([one] if "suite" in one else one.values())]
        suite = inferred(suites, is_open=True)
        return {"anyOf": [suite, {"type": "object", "additionalProperties": suite}]}
    if command not in SHAPED:
        return inferred(results, is_open=command in OPEN)
    shapes: dict[frozenset[str], list[Any]] = {}
    for one in results:
        shapes.setdefault(frozenset(one), []).append(one)
    return {"anyOf": [inferred(same) for same in shapes.values()]}


def _catalog(results: list[Any]) -> dict[str, Any]:
    """Return the schema of kinds, of parts, or of a kind by its name with rows of text."""
    shapes = [inferred([one]) for one in results[:1]]
    shapes.append(inferred([one for one in results if "parts" in one]))
    rows = {"type": "array", "items": TEXTS}
    return {"anyOf": [*shapes, {"type": "object", "additionalProperties": rows}]}


def inferred(values: list[Any], key: str = "", *, is_open: bool = False) -> dict[str, Any]:
    """Return the schema that all of *values*, found under *key*, satisfy."""
    kinds = sorted({_kind(value) for value in values})
    if kinds == ["null"]:
        return {}  # what it would be is not known
    if "number" in kinds or ("integer" in kinds and key.endswith(UNITS)):
        # What cannot be computed is null, and a whole number may be one by chance.
        kinds = sorted({*kinds, "null", "number"} - {"integer"})
    if key in NULLABLE:
        kinds = sorted({*kinds, "null"})
    found: dict[str, Any] = {"type": kinds[0] if len(kinds) == 1 else kinds}
    objects = [value for value in values if isinstance(value, dict)]
    items = [item for value in values if isinstance(value, list) for item in value]
    if objects and key not in NAMED:
        names = list(dict.fromkeys(name for one in objects for name in one))
        found["properties"] = {
            name: inferred([one[name] for one in objects if name in one], name, is_open=is_open)
            for name in names
        }
        found["required"] = [name for name in names if all(name in one for one in objects)]
        found["additionalProperties"] = is_open
    if items:
        found["items"] = inferred(items, key if key in NAMED else "", is_open=is_open)
    return found


def _kind(value: object) -> str:
    names = {dict: "object", list: "array", str: "string", bool: "boolean", int: "integer"}
    return "null" if value is None else names.get(type(value), "number")


def prepare(folder: Path, program: str) -> None:
    """Write the files that the cases name."""
    texts = {
        "gpt": GPT,
        "roce": ROCE,
        "jobs": JOBS,
        "step": STEP,
        "tree": TREE,
        "alone": ALONE,
        "unshaped": UNSHAPED,
        "fleet": FLEET,
        "sweep": SWEEP,
        "bad": GPT.replace("pipeline: 8", "pipeline: 7"),
        "spares": GPT.replace("  model:", "  reliability: {spares: 2}\n  model:"),
        "finish": JOBS.replace("nodes: 2, job", "nodes: 2, steps: 10, job"),
        "sweep-seeds": SEEDS,
        "polaris": POLARIS,
        "zero-touch": ZERO_TOUCH,
        "mixture": MIXTURE,
        "meeting": MEETING,
    }
    for name, text in texts.items():
        (folder / f"{name}.yaml").write_text(text)
    _write_store(folder / "watch.db")
    for name, rows in LOGS.items():
        (folder / f"{name}.log").write_text(LOG_HEAD + "".join(map(_log_row, rows)))
    for name, file in (
        ("incast-rocev2", "incast"),
        ("victim-rocev2", "victim"),
        ("llama-3.1-70b-serving", "serving"),
        ("flux.1-dev-images", "images"),
        ("intellect-1-three-continents", "continents"),
    ):
        (folder / f"{file}.yaml").write_text(_run(program, ["example", name], folder)[1])
    copyfile(ROOT / "tests/unit/explain/traces/two_ranks.rank0.json.gz", folder / "a.json.gz")
    (folder / "run.log").write_text(LOG)
    (folder / "macs.csv").write_text("leaf000,02:00:00:00:00:01\n")
    for recipe in (ROOT / "tests/data/recipes").iterdir():
        copyfile(recipe, folder / recipe.name)
    for name, gpus in (("a", "1024"), ("b", "2048")):
        printed = _run(program, ["size", "--gpus", gpus, "--json"], folder)[1]
        (folder / f"{name}.json").write_text(printed)


def _write_store(path: Path) -> None:
    """Write the store of a watch with an open case and one that is over."""

    def case(number: int, kind: str) -> Case:
        part = PartId.cable(number)
        return Case(
            part=part,
            label=str(part),
            kind=kind,
            confidence=0.9,
            magnitude=1.0,
            evidence=("it is down",),
            hurts=8,
            opened_s=1.8e9,
            seen_s=1.8e9,
        )

    found = [case(0, "missing cable"), case(1, "flapping")]
    with ObservationStore(path) as store:
        _, second = write_cases(store, follow_cases((), found, 1.8e9, may_close=False)).opened
        over = replace(second, closed_s=1.8e9 + 60)
        write_cases(store, CaseChange(cases=(), closed=(over,)))


def _log_row(row: tuple[int, float]) -> str:
    """Return a row of nccl-tests: size, count, type, operation, root, then both halves."""
    size, time_us = row[0] * 2**20, row[1]
    half = f"{time_us} {size / time_us / 1e3:.2f} {1.875 * size / time_us / 1e3:.2f} 0"
    return f"{size} {size // 4} float sum -1 {half} {half}\n"


def _run(program: str, argv: list[str], folder: Path) -> tuple[int, str]:
    done = subprocess.run(  # noqa: S603
        [program, *argv], cwd=folder, capture_output=True, text=True, check=False
    )
    if done.returncode > 1:
        print(" ".join(argv), "->", done.returncode, done.stderr.strip()[:200], file=sys.stderr)
    return done.returncode, done.stdout


def collect(program: str, *, labs: bool, only: list[str]) -> dict[str, list[Any]]:
    """Return the results of every case, by command."""
    found: dict[str, list[Any]] = {}
    runs = [(name, words) for name, cases in CASES.items() for words in cases]
    runs += LABS if labs else ()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        prepare(folder, program)
        for command, words in runs:
            if only and command not in only:
                continue
            code, printed = _run(program, [*command.split(), *words.split(), "--json"], folder)
            if code <= 1 and printed:
                found.setdefault(command, []).append(json.loads(printed)["result"])
            print(f"{command} {words}: {code}", flush=True)
    return found


def main() -> int:
    """Run the command line of this tool."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--netloom", default=str(Path(sys.executable).with_name("netloom")))
    parser.add_argument("--labs", action="store_true")
    parser.add_argument("--keep", type=Path, help="keep the results in this file")
    parser.add_argument("only", nargs="*", help="these commands alone")
    asked = parser.parse_args()
    known = json.loads(FILE.read_text()) if FILE.exists() else {}
    found = collect(asked.netloom, labs=asked.labs, only=asked.only)
    if asked.keep is not None:
        asked.keep.write_text(json.dumps(found))
    timed = {"file": "gpu.csv", "measured": 1, "left": 0, "catalog": "own.toml"}
    found.setdefault("calibrate gpu", [timed])  # needs a GPU
    labels = {"alertname": "NetloomCase", "part": "cable:0", "case": "1"}
    silence = {"silence": "7d9e", "labels": labels, "to_s": 1.8e9, "by": "mona"}
    found.setdefault("cases silence", [silence])  # needs an Alertmanager
    for command, results in found.items():
        known[command] = schema_of(command, results)
    known["locate"]["required"] = ["findings"]  # all that --store has
    FILE.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
