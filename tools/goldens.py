"""Every example through every command, kept as JSON, and two such folders compared value by value.

    python tools/goldens.py take FOLDER [--netloom PROGRAM] [--long]
    python tools/goldens.py compare BEFORE AFTER

A refactoring must leave every value equal to the last digit: take a folder before, one after, and
compare. Values alone are compared: an envelope around a result is taken off, and what names the
time that a run took is left out.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

TRAINING: Final = ("deepseek-v3-2k", "gpt3-175b-1k", "llama-3.1-405b-16k", "trillion-3k")
TRAFFIC: Final = ("incast-rocev2", "victim-infiniband", "victim-rocev2")
SERVING: Final = "llama-3.1-70b-serving"
EXAMPLES: Final = (*TRAINING, *TRAFFIC, SERVING)
TIME_TAKEN: Final = frozenset({"wall_s", "seconds", "elapsed_s", "evaluated_per_s", "duration_s"})
SHARED: Final = """
name: two jobs
cluster: {nodes: 32, node: dgx-h100, fabric: {technology: rocev2-400g, topology: {kind: fat-tree}}}
jobs:
  - name: a
    nodes: 16
    job:
      model: llama-3.1-70b
      training: {sequence: 4096, global_batch: 128}
      parallel: {tensor: 8, pipeline: 4}
  - name: b
    nodes: 16
    job:
      model: llama-3.1-8b
      training: {sequence: 4096, global_batch: 128}
      parallel: {tensor: 1}
"""
SMALL: Final = """
name: 64 nodes
cluster: {nodes: 64, node: dgx-h100, fabric: {technology: rocev2-400g, topology: {kind: fat-tree}}}
job:
  model: llama-3.1-70b
  training: {sequence: 4096, global_batch: 256}
  parallel: {tensor: 8, pipeline: 4}
"""


def cases(*, long: bool) -> dict[str, list[str]]:
    """Return the arguments of each golden run by its name; EXAMPLE.yaml stands for the file."""
    found = {f"compare-{name}": ["compare", f"{name}.yaml"] for name in TRAINING}
    found |= {f"predict-{name}": ["predict", f"{name}.yaml"] for name in TRAINING}
    found |= {f"goodput-{name}": ["goodput", f"{name}.yaml"] for name in TRAINING}
    found |= {f"plan-{name}": ["plan", f"{name}.yaml"] for name in TRAINING[:2]}
    found |= {f"size-{name}": ["size", f"{name}.yaml"] for name in EXAMPLES}
    found |= {f"simulate-{name}": ["simulate", f"{name}.yaml"] for name in TRAFFIC}
    flow = ["--engine", "flow"]
    found |= {f"flows-{name}": ["simulate", f"{name}.yaml", *flow] for name in TRAFFIC}
    found |= {f"flow-{name}": ["predict", f"{name}.yaml", *flow] for name in TRAINING[1:2]}
    found |= {
        "infer": ["infer", f"{SERVING}.yaml"],
        "catalog": ["catalog"],
        "share": ["share", "shared.yaml"],
        "place": ["place", "small.yaml", "--nodes", "16", "--occupied", "0.4", "--tries", "20"],
        "predict-small-packet": ["predict", "small.yaml", "--engine", "packet"],
        "compare-small-seeds": ["compare", "small.yaml", *flow, "--seeds", "3"],
        "whatif-small": ["whatif", "small.yaml", "--fail", "leaf:0"],
        "whatif-rank": ["whatif", "small.yaml", "--rank", "leaf"],
        "simulate-seeds": ["simulate", "incast-rocev2.yaml", "--seeds", "3"],
        "sweep": ["sweep", "sweep.yaml", "--store", "sweep.db"],
    }
    for kind in ("fat-tree", "rail-fat-tree", "rail-only", "multi-plane", "three-tier-tree"):
        found[f"size-{kind}"] = ["size", "--gpus", "4096", "--topology", kind]
    for kind in ("dragonfly-plus", "torus"):
        found[f"size-{kind}"] = ["size", "--gpus", "2048", "--topology", kind]
    for suite in ("collectives", "layers", "gpu-steps", "steps"):
        found[f"validate-{suite}"] = ["validate", suite, "--rows"]
    if long:
        found = {"validate-fct": ["validate", "fct", "--rows"]}
    return found


def take(folder: Path, *, program: str, long: bool) -> None:
    """Run every case and keep what it printed."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        for example in (*EXAMPLES, "sweep"):
            text = subprocess.run(  # noqa: S603
                [program, "example", example], capture_output=True, text=True, check=True
            ).stdout
            (place / f"{example}.yaml").write_text(text)
        (place / "shared.yaml").write_text(SHARED)
        (place / "small.yaml").write_text(SMALL)

        def run(item: tuple[str, list[str]]) -> None:
            case, arguments = item
            done = subprocess.run(  # noqa: S603
                [program, *arguments, "--json"],
                capture_output=True,
                text=True,
                check=False,
                cwd=place,
            )
            kept = {"exit": done.returncode, "out": done.stdout, "err": done.stderr[-2000:]}
            (folder / f"{case}.json").write_text(json.dumps(kept, indent=1))
            print(case, done.returncode, flush=True)

        with ThreadPoolExecutor(2) as pool:
            list(pool.map(run, cases(long=long).items()))


def plain(path: Path) -> Any:
    """Return the values that a golden run printed, without envelope and time taken."""
    kept = json.loads(path.read_text())
    try:
        value = json.loads(kept["out"])
    except ValueError:
        return kept["exit"], re.sub(r"\S*tmp\S*/", "", kept["out"])
    if isinstance(value, dict) and {"netloom", "command", "schema"} <= value.keys():
        value = value.get("result", value.get("error"))
    return kept["exit"], value


def differences(before: Any, after: Any, where: str = "") -> list[str]:
    """Return where two values differ."""
    if isinstance(before, dict) and isinstance(after, dict):
        found = [f"{where}.{key}: gone" for key in before.keys() - after.keys() - TIME_TAKEN]
        found += [f"{where}.{key}: new" for key in after.keys() - before.keys() - TIME_TAKEN]
        shared = [key for key in before if key in after and key not in TIME_TAKEN]
        return found + [
            line
            for key in shared
            for line in differences(before[key], after[key], f"{where}.{key}")
        ]
    if isinstance(before, (list, tuple)) and isinstance(after, (list, tuple)):
        if len(before) != len(after):
            return [f"{where}: {len(before)} -> {len(after)} items"]
        pairs = zip(before, after, strict=True)
        return [
            line for at, (a, b) in enumerate(pairs) for line in differences(a, b, f"{where}[{at}]")
        ]
    return [] if before == after else [f"{where}: {str(before)[:90]} -> {str(after)[:90]}"]


def compare(before: Path, after: Path) -> int:
    """Print where two folders differ; return 1 if they do."""
    differing = 0
    for path in sorted(before.glob("*.json")):
        other = after / path.name
        lines = differences(plain(path), plain(other)) if other.exists() else ["missing"]
        differing += bool(lines)
        for line in lines[:12]:
            print(f"{path.stem}{line}")
        if len(lines) > 12:
            print(f"{path.stem}: {len(lines) - 12} more")
    print(f"{differing} of {len(list(before.glob('*.json')))} differ")
    return int(differing > 0)


def main() -> int:
    """Run the command line of this tool."""
    parser = argparse.ArgumentParser(description=__doc__)
    acts = parser.add_subparsers(dest="act", required=True)
    taking = acts.add_parser("take")
    taking.add_argument("folder", type=Path)
    taking.add_argument("--netloom", default=str(Path(sys.executable).with_name("netloom")))
    taking.add_argument("--long", action="store_true", help="the suite that takes minutes, alone")
    comparing = acts.add_parser("compare")
    comparing.add_argument("before", type=Path)
    comparing.add_argument("after", type=Path)
    asked = parser.parse_args()
    if asked.act == "compare":
        return compare(asked.before, asked.after)
    take(asked.folder, program=asked.netloom, long=asked.long)
    return 0


if __name__ == "__main__":
    sys.exit(main())
