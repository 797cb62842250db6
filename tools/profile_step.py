"""Record profiler traces of small training steps on one GPU, sound and with a planted fault.

Nothing but the standard library and PyTorch is imported:
``python3 tools/profile_step.py OUT_FOLDER``. The traces under tests/ come from this program.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import statistics
import time
from dataclasses import dataclass, replace
from pathlib import Path

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn import functional as F  # noqa: N812  (as PyTorch's users write it)
from torch.profiler import ProfilerActivity, profile, record_function, schedule
from torch.utils.checkpoint import checkpoint


@dataclass(frozen=True)
class Case:
    name: str
    hidden: int = 4096
    layers: int = 4
    heads: int = 32
    kv_heads: int = 8
    ffn: int = 14336
    vocabulary: int = 32000
    sequence: int = 4096
    micro_batch: int = 1
    accumulate: int = 2
    recompute: bool = False
    data_wait_s: float = 0.0
    extra_products: int = 0
    compiled: bool = False
    ranks: int = 1
    slow_rank: int = -1


class Layer(nn.Module):
    def __init__(self, case: Case) -> None:
        super().__init__()
        size = case.hidden // case.heads
        self.case, self.size = case, size
        self.norm1 = nn.RMSNorm(case.hidden)
        self.norm2 = nn.RMSNorm(case.hidden)
        self.qkv = nn.Linear(case.hidden, (case.heads + 2 * case.kv_heads) * size, bias=False)
        self.out = nn.Linear(case.hidden, case.hidden, bias=False)
        self.up = nn.Linear(case.hidden, 2 * case.ffn, bias=False)
        self.down = nn.Linear(case.ffn, case.hidden, bias=False)
        self.slow = False

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        case, size = self.case, self.size
        q, k, v = self.qkv(self.norm1(x)).split(
            [case.heads * size, case.kv_heads * size, case.kv_heads * size], -1
        )
        q, k, v = (one.unflatten(-1, (-1, size)).transpose(1, 2) for one in (q, k, v))
        seen = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        x = x + self.out(seen.transpose(1, 2).flatten(2))
        gate, up = self.up(self.norm2(x)).chunk(2, -1)
        if self.slow:
            for _ in range(case.extra_products):
                self.qkv(x)
        return x + self.down(F.silu(gate) * up)


class Model(nn.Module):
    def __init__(self, case: Case) -> None:
        super().__init__()
        self.case = case
        self.embedding = nn.Embedding(case.vocabulary, case.hidden)
        self.layers = nn.ModuleList(Layer(case) for _ in range(case.layers))
        self.norm = nn.RMSNorm(case.hidden)
        self.logits = nn.Linear(case.hidden, case.vocabulary, bias=False)

    def forward(self, tokens: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        x = self.embedding(tokens)
        for layer in self.layers:
            x = checkpoint(layer, x, use_reentrant=False) if self.case.recompute else layer(x)
        logits = self.logits(self.norm(x)).float()
        return F.cross_entropy(logits.flatten(0, 1), labels.flatten())


def batch(case: Case) -> tuple[torch.Tensor, torch.Tensor]:
    with record_function("data"):
        if case.data_wait_s:
            time.sleep(case.data_wait_s)
        shape = (case.micro_batch, case.sequence)
        host = torch.randint(0, case.vocabulary, shape).pin_memory()
        tokens = host.to("cuda", non_blocking=True)
        return tokens, tokens


def step(case: Case, model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    for number in range(case.accumulate):
        tokens, labels = batch(case)
        last = number == case.accumulate - 1
        sync = getattr(model, "require_backward_grad_sync", None)
        if sync is not None:
            model.require_backward_grad_sync = last
        with record_function("forward"):
            loss = model(tokens, labels)
        with record_function("backward"):
            (loss / case.accumulate).backward()
    with record_function("optimizer"):
        optimizer.step()
        optimizer.zero_grad()


def run(case: Case, rank: int, out: Path) -> dict[str, object]:
    torch.manual_seed(rank)
    torch.cuda.reset_peak_memory_stats()
    model: nn.Module = Model(case).to("cuda", torch.bfloat16)
    if case.slow_rank in (rank, -2):
        for layer in model.layers:
            layer.slow = True
    if case.compiled:
        model = torch.compile(model)
    if case.ranks > 1:
        model = nn.parallel.DistributedDataParallel(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5, fused=True)
    for _ in range(3):
        step(case, model, optimizer)
    took = []
    for _ in range(5):
        torch.cuda.synchronize()
        start = time.perf_counter()
        step(case, model, optimizer)
        torch.cuda.synchronize()
        took.append(time.perf_counter() - start)
    plan = schedule(wait=0, warmup=1, active=2, repeat=1)
    kinds = [ProfilerActivity.CPU, ProfilerActivity.CUDA]
    with profile(activities=kinds, schedule=plan, record_shapes=True) as trace:
        for _ in range(3):
            step(case, model, optimizer)
            torch.cuda.synchronize()
            trace.step()
    path = out / f"{case.name}.rank{rank}.json"
    trace.export_chrome_trace(str(path))
    write_small(path)
    found = {
        "case": case.__dict__,
        "rank": rank,
        "step_s": statistics.median(took),
        "steps_s": took,
        "peak_bytes": torch.cuda.max_memory_allocated(),
    }
    print(json.dumps(found), flush=True)
    return found


def write_small(path: Path) -> None:
    """Pack a trace without the host's operators and arrows, which are most of it."""
    trace = json.loads(path.read_text())
    trace["traceEvents"] = [one for one in trace["traceEvents"] if one.get("cat") not in LEFT_OUT]
    with gzip.open(f"{path}.gz", "wt", compresslevel=9) as packed:
        json.dump(trace, packed, separators=(",", ":"))
    path.unlink()


def rank_main(rank: int, case: Case, out: Path, port: int) -> None:
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    dist.init_process_group("gloo", rank=rank, world_size=case.ranks)
    try:
        found = run(case, rank, out)
        (out / f"{case.name}.rank{rank}.said.json").write_text(json.dumps(found, default=str))
    finally:
        dist.destroy_process_group()


LEFT_OUT = {"cpu_op", "ac2g", "fwdbwd", "Trace", None}
BASE = Case("plain")
SMALL = replace(
    BASE, hidden=2048, layers=4, heads=16, kv_heads=16, ffn=5504, sequence=2048, accumulate=1
)
CASES = (
    BASE,
    replace(BASE, name="recompute", recompute=True),
    replace(BASE, name="data_wait", data_wait_s=0.06),
    replace(
        BASE,
        name="launch_bound",
        hidden=512,
        layers=12,
        heads=8,
        kv_heads=8,
        ffn=1408,
        sequence=512,
        accumulate=2,
    ),
    replace(BASE, name="extra_work", extra_products=4, slow_rank=-2),
    replace(BASE, name="compiled", compiled=True),
    replace(SMALL, name="two_ranks", ranks=2),
    replace(SMALL, name="straggler", ranks=2, slow_rank=1, extra_products=60),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--suffix", default="")
    asked = parser.parse_args()
    asked.out.mkdir(parents=True, exist_ok=True)
    for number, case in enumerate(CASES):
        if asked.only and case.name not in asked.only.split(","):
            continue
        named = replace(case, name=case.name + asked.suffix)
        try:
            if case.ranks > 1:
                mp.spawn(rank_main, args=(named, asked.out, 29500 + number), nprocs=case.ranks)
            else:
                found = run(named, 0, asked.out)
                (asked.out / f"{named.name}.said.json").write_text(json.dumps(found, default=str))
        except (RuntimeError, mp.ProcessRaisedException) as error:  # the others still run
            print(case.name, "failed:", repr(error), flush=True)


if __name__ == "__main__":
    main()
