"""Time experts, and take the memory of whole steps, on the GPU of this machine.

Shapes that no shipped table has, in the columns of those tables: ``netloom validate layers --data``
and ``netloom validate memory --data`` judge by them. Needs PyTorch alone:
``python3 tools/measure_held_out.py FOLDER`` writes ``experts.csv`` and ``step_memory.csv`` there.
"""

from __future__ import annotations

import csv
import gc
import statistics
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

BF16 = torch.bfloat16
REPEATS = 25
HOST_BOUND = 0.9

# hidden, expert width, experts of the model, here, a token's, tokens
EXPERTS = [
    (6144, 2560, 160, 20, 8, 2048),
    (6144, 2560, 160, 5, 8, 8192),
    (5120, 1536, 160, 10, 6, 4096),
    (3584, 1408, 64, 16, 4, 8192),
    (2880, 2880, 128, 16, 4, 8192),
    (4096, 1536, 128, 16, 8, 2048),
    (3072, 1024, 512, 64, 10, 2048),
    (8192, 4096, 16, 4, 1, 8192),
    (5120, 8192, 16, 2, 1, 4096),
    (1536, 512, 384, 48, 6, 16384),
]
# name, hidden, heads, heads of keys, feed-forward, layers, vocabulary, experts, a token's
STEPS = [
    ("llama-3b-12", 3072, 24, 8, 8192, 12, 128256, 0, 0),
    ("mistral-7b-8", 4096, 32, 8, 14336, 8, 32768, 0, 0),
    ("qwen2-14b-6", 5120, 40, 8, 13824, 6, 152064, 0, 0),
    ("mha-13b-5", 5120, 40, 40, 13824, 5, 32000, 0, 0),
    ("olmoe-8", 2048, 16, 16, 1024, 8, 50304, 64, 8),
    ("mixtral-2", 4096, 32, 8, 14336, 2, 32000, 8, 2),
]
BATCHES = [(1, 4096), (2, 2048), (1, 8192)]


def timed(run: Any) -> tuple[float, float]:
    """Return the median time of *run* between events, and the host's to enqueue it, in ms."""
    for _ in range(5):
        run()
    torch.cuda.synchronize()
    spans, hosts = [], []
    for _ in range(REPEATS):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        host = time.perf_counter()
        run()
        hosts.append(1e3 * (time.perf_counter() - host))
        end.record()
        torch.cuda.synchronize()
        spans.append(begin.elapsed_time(end))
    return statistics.median(spans), statistics.median(hosts)


def both(forward: Any, inputs: list[torch.Tensor]) -> dict[str, Any]:
    """Return the times of a forward pass, and of one with its backward."""
    grad = torch.randn_like(forward())
    fwd, fwd_host = timed(forward)
    full, full_host = timed(lambda: torch.autograd.grad(forward(), inputs, grad))
    bound = [
        f"host_bound_{name}"
        for name, span, host in (("fwd", fwd, fwd_host), ("fwd_bwd", full, full_host))
        if host >= HOST_BOUND * span
    ]
    return {"fwd_ms": fwd, "fwd_bwd_ms": full, "status": "+".join(bound) or "ok"}


def weight(*shape: int) -> torch.Tensor:
    return (0.02 * torch.randn(*shape, device="cuda", dtype=BF16)).requires_grad_()


def experts_of(
    x: torch.Tensor, up: torch.Tensor, down: torch.Tensor, ends: torch.Tensor
) -> torch.Tensor:
    gate, value = grouped(x, up, ends).chunk(2, dim=-1)
    return grouped(functional.silu(gate) * value, down, ends)


def grouped(x: torch.Tensor, weights: torch.Tensor, ends: torch.Tensor) -> torch.Tensor:
    return torch._grouped_mm(x, weights.transpose(-2, -1), offs=ends)  # noqa: SLF001  (no public name)


def mixture_rows() -> list[dict[str, Any]]:
    rows = []
    for hidden, width, experts, local, top_k, tokens in EXPERTS:
        num = tokens * top_k
        up, down = weight(local, 2 * width, hidden), weight(local, hidden, width)
        counts = torch.full((local,), num // local, device="cuda", dtype=torch.int32)
        counts[: num % local] += 1
        ends = counts.cumsum(0).to(torch.int32)
        base = {
            "impl": "grouped_mm", "mode": "eager", "model": "", "hidden": hidden, "ffn": width,
            "experts": experts, "local_experts": local, "top_k": top_k, "rows": num,
            "load": "balanced", "tp": 1, "repeats": REPEATS,
        }  # fmt: skip
        x = torch.randn(num, hidden, device="cuda", dtype=BF16, requires_grad=True)
        got = both(partial(experts_of, x, up, down, ends), [x, up, down])
        rows.append({"part": "experts", **base, **got})
        got = both(partial(grouped, x, up, ends), [x, up])
        rows.append({"part": "grouped_gemm_up", **base, **got})
        free()
    return rows


class Norm(torch.nn.Module):  # type: ignore[misc]
    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(hidden))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return functional.rms_norm(x, (x.shape[-1],), self.weight.to(x.dtype), 1e-5)


def rotated(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    half = x.shape[-1] // 2
    turned = torch.cat((-x[..., half:], x[..., :half]), dim=-1)
    return x * cos + turned * sin


class Layer(torch.nn.Module):  # type: ignore[misc]
    def __init__(self, shape: tuple[Any, ...]) -> None:
        super().__init__()
        _, hidden, heads, kv_heads, width, _, _, experts, top_k = shape
        self.heads, self.kv_heads, self.top_k, self.experts = heads, kv_heads, top_k, experts
        linear = torch.nn.Linear
        self.norm_1, self.norm_2 = Norm(hidden), Norm(hidden)
        self.q = linear(hidden, heads * 128, bias=False)
        self.k = linear(hidden, kv_heads * 128, bias=False)
        self.v = linear(hidden, kv_heads * 128, bias=False)
        self.o = linear(heads * 128, hidden, bias=False)
        if experts:
            self.router = linear(hidden, experts, bias=False)
            self.up = torch.nn.Parameter(0.02 * torch.randn(experts, 2 * width, hidden))
            self.down = torch.nn.Parameter(0.02 * torch.randn(experts, hidden, width))
        else:
            self.gate, self.value = (linear(hidden, width, bias=False) for _ in range(2))
            self.out = linear(width, hidden, bias=False)

    def forward(self, x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
        size, length, _ = x.shape
        y = self.norm_1(x)
        q, k, v = (
            one(y).view(size, length, num, 128).transpose(1, 2)
            for one, num in ((self.q, self.heads), (self.k, self.kv_heads), (self.v, self.kv_heads))
        )
        q, k = rotated(q, cos, sin), rotated(k, cos, sin)
        y = functional.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        x = x + self.o(y.transpose(1, 2).reshape(size, length, -1))
        y = self.norm_2(x)
        return x + (
            self.mixture(y)
            if self.experts
            else self.out(functional.silu(self.gate(y)) * self.value(y))
        )

    def mixture(self, y: torch.Tensor) -> torch.Tensor:
        flat = y.reshape(-1, y.shape[-1])
        tokens, top_k = flat.shape[0], self.top_k
        scores = torch.softmax(self.router(flat).float(), dim=-1)
        weights, _ = torch.topk(scores, top_k, dim=-1)
        weights = (weights / weights.sum(-1, keepdim=True)).to(flat.dtype)
        ids = torch.arange(tokens * top_k, device="cuda").remainder(self.experts)
        order = torch.argsort(ids, stable=True)
        ends = torch.bincount(ids, minlength=self.experts).cumsum(0).to(torch.int32)
        up, down = self.up.to(BF16), self.down.to(BF16)
        made = experts_of(flat[order // top_k].to(BF16), up, down, ends)
        back = torch.empty_like(order)
        back[order] = torch.arange(order.numel(), device="cuda")
        made = made[back].view(tokens, top_k, -1) * weights.unsqueeze(-1)
        return made.sum(1).view_as(y)


class Llama(torch.nn.Module):  # type: ignore[misc]
    def __init__(self, shape: tuple[Any, ...]) -> None:
        super().__init__()
        _, hidden, _, _, _, layers, vocabulary, _, _ = shape
        self.embedding = torch.nn.Embedding(vocabulary, hidden)
        self.layers = torch.nn.ModuleList(Layer(shape) for _ in range(layers))
        self.norm = Norm(hidden)
        self.logits = torch.nn.Linear(hidden, vocabulary, bias=False)

    def forward(
        self, ids: torch.Tensor, table: tuple[torch.Tensor, ...], *, full: bool
    ) -> torch.Tensor:
        x = self.embedding(ids)
        for layer in self.layers:
            x = checkpoint(layer, x, *table, use_reentrant=False) if full else layer(x, *table)
        logits = self.logits(self.norm(x)).float()
        return functional.cross_entropy(logits.view(-1, logits.shape[-1]), ids.view(-1))


def memory_rows() -> list[dict[str, Any]]:
    rows = []
    for shape in STEPS:
        for precision in ("bf16", "mixed"):
            for recompute in ("none", "full"):
                for batch, length in BATCHES:
                    rows += memory_row(shape, precision, recompute, batch, length)
                    free()
    return rows


def memory_row(
    shape: tuple[Any, ...], precision: str, recompute: str, batch: int, length: int
) -> list[dict[str, Any]]:
    torch.cuda.empty_cache()
    try:
        with torch.device("cuda"):
            model = Llama(shape).to(BF16 if precision == "bf16" else torch.float32)
        adam = torch.optim.AdamW(model.parameters(), lr=1e-5, fused=True)
        ids = torch.randint(0, shape[6], (batch, length), device="cuda")
        kind = BF16 if precision == "bf16" else torch.float32
        turns = torch.outer(
            torch.arange(length, device="cuda").float(),
            1e4 ** (-torch.arange(0, 128, 2, device="cuda").float() / 128),
        )
        turns = torch.cat((turns, turns), dim=-1)
        table = (turns.cos().to(kind), turns.sin().to(kind))
        got: dict[str, Any] = {}
        for _ in range(3):
            got = one_step(
                model, adam, ids, table, mixed=precision == "mixed", full=recompute == "full"
            )
    except torch.cuda.OutOfMemoryError:
        return []
    name, hidden, heads, kv_heads, width, layers, vocabulary, experts, top_k = shape
    return [
        {
            "model": name, "hidden": hidden, "heads": heads, "kv_heads": kv_heads, "head_dim": 128,
            "ffn": width, "layers": layers, "vocab": vocabulary, "experts": experts,
            "top_k": top_k, "micro_batch": batch, "seq": length, "precision": precision,
            "recompute": recompute, "mode": "eager",
            "parameters": sum(p.numel() for p in model.parameters()), **got, "status": "ok",
        }
    ]  # fmt: skip


def one_step(
    model: Llama, adam: Any, ids: torch.Tensor, table: Any, *, mixed: bool, full: bool
) -> dict[str, Any]:
    static = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    with torch.autocast("cuda", BF16, enabled=mixed):
        loss = model(ids, table, full=full)
    torch.cuda.synchronize()
    end = torch.cuda.memory_allocated()
    loss.backward()
    adam.step()
    adam.zero_grad(set_to_none=False)
    torch.cuda.synchronize()
    return {
        "static_bytes": static,
        "forward_end_bytes": end,
        "peak_allocated_bytes": torch.cuda.max_memory_allocated(),
    }


def free() -> None:
    gc.collect()
    torch.cuda.empty_cache()


def write(path: Path, rows: list[dict[str, Any]]) -> None:
    columns = list(dict.fromkeys(key for row in rows for key in row))
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns, restval="")
        writer.writeheader()
        writer.writerows(rows)
    print(path.name, len(rows), flush=True)


def main() -> None:
    folder = Path(sys.argv[1])
    write(folder / "experts.csv", mixture_rows())
    write(folder / "step_memory.csv", memory_rows())


if __name__ == "__main__":
    main()
