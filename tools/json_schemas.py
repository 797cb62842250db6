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
from pathlib import Path
from shutil import copyfile
from typing import Any, Final

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
JOBS: Final = """
cluster: {nodes: 4, node: dgx-h100, fabric: {technology: infiniband-ndr}}
jobs:
  - {name: a, nodes: 2, job: &job {model: llama-2-7b, training: {sequence: 4096, global_batch: 64}}}
  - {name: b, nodes: 2, job: *job}
"""
TREE: Final = """
cluster: {nodes: 2, node: dgx-h100, fabric: {technology: infiniband-ndr}}
job: {model: llama-2-7b, training: {sequence: 4096, global_batch: 64}}
"""
ALONE: Final = """
cluster: {nodes: 2, node: dgx-h100, fabric: {technology: infiniband-ndr}}
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
    "compare": ["gpt.yaml", "roce.yaml", "roce.yaml --engine flow --seeds 2"],
    "predict": [
        "gpt.yaml",
        "roce.yaml --engine flow --seeds 2",
        "roce.yaml --engine flow --seeds 1",
    ],
    "explain": ["gpt.yaml --measured 60s", "tree.yaml --trace a.json.gz", "gpt.yaml --log run.log"],
    "plan": ["gpt.yaml", "roce.yaml --objective cost", "gpt.yaml --gpus 64,128"],
    "infer": ["", "serving.yaml"],
    "expect": ["alone.yaml", "alone.yaml --against slow.log", "alone.yaml --against fine.log"],
    "goodput": ["gpt.yaml", "", "spares.yaml"],
    "whatif": ["gpt.yaml --fail node:0", "roce.yaml --slow nic:1=2", "roce.yaml --rank leaf"],
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
    "validate": ["gpu-steps", "steps --rows", "collectives --rows", "layers --rows", ""],
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
    "simulate": ["", "--engine flow", "--seeds 2", "--until 20us", "victim.yaml"],
    "diff": ["gpt.yaml roce.yaml", "a.json b.json", "gpt.yaml gpt.yaml", "gpt.yaml bad.yaml"],
    "doctor": [""],
    "deploy render": ["tree.yaml --out rendered", "roce.yaml --out rendered-roce"],
    "deploy check": ["tree.yaml", "roce.yaml"],
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
        "model",
    )
)
# Results with further keys: counters of engines, suites that take minutes, evidence by kind.
OPEN: Final = frozenset(
    {"simulate", "validate", "locate", "watch", "heal", "audit", "deploy check", "deploy apply"}
)
UNITS: Final = ("_s", "_bps", "_gbps", "_bytes", "_usd", "_w", "_m", "_pct", "_share", "_per_day")
# Results of several shapes, which their keys tell apart.
SHAPED: Final = frozenset({"whatif", "example", "lab status"})
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
        "tree": TREE,
        "alone": ALONE,
        "fleet": FLEET,
        "sweep": SWEEP,
        "bad": GPT.replace("pipeline: 8", "pipeline: 7"),
        "spares": GPT.replace("  model:", "  reliability: {spares: 2}\n  model:"),
        "finish": JOBS.replace("nodes: 2, job", "nodes: 2, steps: 10, job"),
        "sweep-seeds": SEEDS,
        "polaris": POLARIS,
    }
    for name, text in texts.items():
        (folder / f"{name}.yaml").write_text(text)
    for name, rows in LOGS.items():
        (folder / f"{name}.log").write_text(LOG_HEAD + "".join(map(_log_row, rows)))
    for name, file in (
        ("incast-rocev2", "incast"),
        ("victim-rocev2", "victim"),
        ("llama-3.1-70b-serving", "serving"),
    ):
        (folder / f"{file}.yaml").write_text(_run(program, ["example", name], folder)[1])
    copyfile(ROOT / "tests/unit/explain/traces/two_ranks.rank0.json.gz", folder / "a.json.gz")
    (folder / "run.log").write_text(LOG)
    for recipe in (ROOT / "tests/data/recipes").iterdir():
        copyfile(recipe, folder / recipe.name)
    for name, gpus in (("a", "1024"), ("b", "2048")):
        printed = _run(program, ["size", "--gpus", gpus, "--json"], folder)[1]
        (folder / f"{name}.json").write_text(printed)


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
    for command, results in found.items():
        known[command] = schema_of(command, results)
    known["locate"]["required"] = ["findings"]  # all that --store has
    FILE.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
