"""Time operators on the GPU of this machine with PyTorch.

PyTorch is not a dependency: it is looked for when asked, and its absence is an error that says
what to do.
"""

from __future__ import annotations

import importlib
from statistics import median
from typing import TYPE_CHECKING, Any, Final

from netloom.errors import SpecError

if TYPE_CHECKING:
    from collections.abc import Callable

    Operation = Callable[[], object]

__all__ = ["TorchGpu"]

WARM_UPS: Final = 5
MIN_RUNS: Final = 20
MAX_RUNS: Final = 200
# Runs are repeated for about this long, so that clocks are those of a loop, not of one kernel.
LOOP_MS: Final = 120.0
FP8_MAJOR: Final = (8, 9)  # compute capability from which fp8 products exist


class TorchGpu:
    """The first GPU that PyTorch sees.

    Raises:
        SpecError: there is no PyTorch, or it sees no GPU.
    """

    _device = "cuda"

    def __init__(self) -> None:
        try:
            self._torch: Any = importlib.import_module("torch")
        except ImportError as error:
            raise SpecError(
                what="calibrate gpu: PyTorch is not installed here", remedy="run it where you train"
            ) from error
        if not self._torch.cuda.is_available():
            raise SpecError(
                what="calibrate gpu: PyTorch sees no GPU here",
                remedy="run it on a machine with one",
            )

    @property
    def source(self) -> str:
        """Return what the table names as its source: software and GPU."""
        torch = self._torch
        cuda = torch.version.cuda or torch.version.hip or "?"
        return f"PyTorch {torch.__version__} CUDA {cuda} on one {torch.cuda.get_device_name()}"

    @property
    def has_fp8(self) -> bool:
        """Return whether it multiplies in fp8."""
        capability: tuple[int, int] = self._torch.cuda.get_device_capability()
        return capability >= FP8_MAJOR

    def time_s(self, operator: str, precision: str, shape: tuple[int, ...]) -> float | None:
        """Return the median time of one run; None where it fails or does not fit in memory."""
        torch = self._torch
        try:
            operation = self._operation(operator, precision, shape)
            return self._timed_s(operation)
        except (RuntimeError, NotImplementedError):  # out of memory, or no such kernel
            return None
        finally:
            torch.cuda.synchronize()
            torch.cuda.empty_cache()

    def _timed_s(self, operation: Operation) -> float:
        """Return the median over a loop, timed on the GPU run by run."""
        for _ in range(WARM_UPS):
            operation()
        once_ms = median(self._events_ms(operation, 3))
        runs = min(MAX_RUNS, max(MIN_RUNS, int(LOOP_MS / max(once_ms, 1e-3))))
        return median(self._events_ms(operation, runs)) * 1e-3

    def _events_ms(self, operation: Operation, runs: int) -> list[float]:
        event = self._torch.cuda.Event
        marks = [(event(enable_timing=True), event(enable_timing=True)) for _ in range(runs)]
        for start, end in marks:
            start.record()
            operation()
            end.record()
        self._torch.cuda.synchronize()
        return [start.elapsed_time(end) for start, end in marks]

    def _operation(self, operator: str, precision: str, shape: tuple[int, ...]) -> Operation:
        if operator.startswith("gemm"):
            return self._product(operator, precision, shape)
        if operator.startswith("attention"):
            return self._attention(shape, backward=operator == "attention_backward")
        if operator.startswith("adamw"):
            return self._adamw(shape[0], precision)
        if operator == "cross_entropy":
            return self._loss(shape)
        return self._memory_bound(operator, shape)

    def _random(self, *shape: int, gradient: bool = False) -> Any:
        torch = self._torch
        return torch.randn(shape, device=self._device, dtype=torch.bfloat16, requires_grad=gradient)

    def _product(self, layout: str, precision: str, shape: tuple[int, ...]) -> Operation:
        torch = self._torch
        rows, columns, inner = shape
        if precision == "fp8":
            kind, one = torch.float8_e4m3fn, torch.ones((), device=self._device)
            left, right = self._random(rows, inner).to(kind), self._random(columns, inner).to(kind)
            return lambda: torch._scaled_mm(  # noqa: SLF001  (PyTorch has no other fp8 product)
                left, right.t(), scale_a=one, scale_b=one, out_dtype=torch.bfloat16
            )
        match layout:
            case "gemm_tn":  # a linear layer
                left, right = self._random(rows, inner), self._random(columns, inner)
                return lambda: torch.nn.functional.linear(left, right)
            case "gemm_nn":  # the gradient of its input
                left, right = self._random(rows, inner), self._random(inner, columns)
                return lambda: left @ right
            case _:  # the gradient of its weight
                left, right = self._random(inner, rows), self._random(inner, columns)
                return lambda: left.t() @ right

    def _attention(self, shape: tuple[int, ...], *, backward: bool) -> Operation:
        torch = self._torch
        batch, sequence, heads, head_dim = shape
        # As a layer makes them: heads inside the tokens, seen from the heads.
        query, key, value = (
            self._random(batch, sequence, heads, head_dim, gradient=backward) for _ in range(3)
        )

        def attend() -> Any:
            inputs = (part.transpose(1, 2) for part in (query, key, value))
            return torch.nn.functional.scaled_dot_product_attention(*inputs, is_causal=True)

        return self._gradient(attend, (query, key, value)) if backward else attend

    def _gradient(self, forward: Callable[[], Any], inputs: tuple[Any, ...]) -> Operation:
        output = forward()
        gradient = self._torch.randn_like(output)
        return lambda: self._torch.autograd.grad(output, inputs, gradient, retain_graph=True)

    def _adamw(self, size: int, precision: str) -> Operation:
        torch = self._torch
        kind = torch.float32 if precision == "fp32" else torch.bfloat16
        weight = torch.zeros(size, device=self._device, dtype=kind, requires_grad=True)
        weight.grad = torch.randn_like(weight)
        step: Operation = torch.optim.AdamW([weight], fused=True).step
        return step

    def _loss(self, shape: tuple[int, ...]) -> Operation:
        torch = self._torch
        logits = self._random(*shape)
        wanted = torch.randint(0, shape[1], (shape[0],), device=self._device)
        return lambda: torch.nn.functional.cross_entropy(logits.float(), wanted)

    def _memory_bound(self, operator: str, shape: tuple[int, ...]) -> Operation:
        name, _, direction = operator.partition("_backward")
        backward = operator != name or direction != ""
        functional = self._torch.nn.functional
        value = self._random(*shape, gradient=backward)
        other, scale, shift = self._random(*shape), self._random(shape[1]), self._random(shape[1])
        scale.requires_grad_(backward)
        shift.requires_grad_(backward)
        width = (shape[1],)
        known: dict[str, Operation] = {
            "residual_add": lambda: value + other,
            "layernorm": lambda: functional.layer_norm(value, width, scale, shift),
            "rmsnorm": lambda: functional.rms_norm(value, width, scale),
            "gelu": lambda: functional.gelu(value, approximate="tanh"),
            "silu_mul": lambda: functional.silu(value) * other,
            "bias_gradient": lambda: value.sum(0),
            "dropout": lambda: functional.dropout(value, 0.1),
        }
        if not backward:
            return known[name]
        asked = {"layernorm": (value, scale, shift), "rmsnorm": (value, scale)}
        return self._gradient(known[name], asked.get(name, (value,)))
