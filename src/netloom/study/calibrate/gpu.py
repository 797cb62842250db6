"""What to measure on a GPU, in which order, and what to keep of one that was cut short."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING, Final

from netloom.compute.tables import COLUMNS, parse_table

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["OperatorTrial", "line", "plan", "remaining"]

LAYOUTS: Final = ("gemm_tn", "gemm_nn", "gemm_nt")
# Widths of published models from 1 to 1,000 billion parameters, and their shares.
PRODUCT_SIZES: Final = (1024, 2048, 3072, 4096, 5120, 6144, 8192, 12288, 16384)
PRODUCT_ROWS: Final = (2048, 4096, 8192)
# Long enough for the power limit to be felt: 15 ms and more at 700 TFLOP/s.
LONG_PRODUCTS: Final = (
    (16384, 28672, 16384),
    (16384, 16384, 32768),
    (8192, 53248, 16384),
    (16384, 49152, 12288),
    (32768, 16384, 16384),
)
ATTENTIONS: Final = (1024, 2048, 4096, 8192, 16384)
COLUMNS_OF_ROWS: Final = (1024, 2048, 4096, 8192, 16384)
VALUES: Final = (2**27, 2**26)  # far beyond any cache
MEMORY_BOUND: Final = (
    "residual_add",
    "layernorm",
    "layernorm_backward",
    "rmsnorm",
    "rmsnorm_backward",
    "gelu",
    "gelu_backward",
    "silu_mul",
    "bias_gradient",
    "dropout",
)
# Small enough to take no time on any GPU: what is left is the host's.
TINY: Final = (1024, 1024)


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorTrial:
    """One operator to time, as the tables name it."""

    operator: str
    precision: str
    shape: tuple[int, ...]

    @property
    def key(self) -> tuple[str, str, tuple[int, ...]]:
        """What tells it from others."""
        return self.operator, self.precision, self.shape


def plan(*, quick: bool, fp8: bool) -> tuple[OperatorTrial, ...]:
    """Return what to measure, the most telling first, so that stopping early does little harm.

    Kinds of operators take turns; a product's three layouts follow one another, so that they
    meet the same clock.

    Args:
        quick: Every third shape only.
        fp8: Whether the GPU has it.
    """
    kinds = [list(_products()), list(_attentions()), list(_memory_bound())]
    if fp8:
        kinds.append(list(_fp8_products()))
    if quick:
        kinds = [_thinned(kind) for kind in kinds]
    turns = (trial for turn in zip_longest(*kinds) for trial in turn if trial is not None)
    return tuple(trial for group in turns for trial in group)


def remaining(
    trials: Iterable[OperatorTrial], lines: Iterable[str], *, where: str
) -> tuple[OperatorTrial, ...]:
    """Return the *trials* that a file does not hold yet.

    Raises:
        SpecError: the file is not such a table.
    """
    done = {(row.operator, row.precision, row.shape) for row in parse_table(lines, where=where)}
    return tuple(trial for trial in trials if trial.key not in done)


def line(trial: OperatorTrial, time_s: float, source: str) -> str:
    """Return the line of the table for a measured *trial*."""
    shape = "x".join(str(size) for size in trial.shape)
    fields = (trial.operator, trial.precision, shape, f"{1e6 * time_s:.6g}", source)
    assert len(fields) == len(COLUMNS)
    return ",".join(field.replace(",", " ") for field in fields)


def _thinned(kind: list[tuple[OperatorTrial, ...]]) -> list[tuple[OperatorTrial, ...]]:
    return kind[::3]


def _products() -> Iterator[tuple[OperatorTrial, ...]]:
    """Yield products, each in all layouts; the long ones first, small steps of size last."""
    shapes = list(LONG_PRODUCTS)
    for distance in range(len(PRODUCT_SIZES)):
        for number, columns in enumerate(PRODUCT_SIZES):
            inner = PRODUCT_SIZES[(number + distance * 2) % len(PRODUCT_SIZES)]
            rows = PRODUCT_ROWS[(number + distance) % len(PRODUCT_ROWS)]
            shapes.append((rows, columns, inner))
    for shape in dict.fromkeys(shapes):
        yield tuple(OperatorTrial(operator=name, precision="bf16", shape=shape) for name in LAYOUTS)


def _fp8_products() -> Iterator[tuple[OperatorTrial, ...]]:
    for number, columns in enumerate(PRODUCT_SIZES):
        for distance in (0, 2, 5):
            inner = PRODUCT_SIZES[(number + distance) % len(PRODUCT_SIZES)]
            shape = (PRODUCT_ROWS[(number + distance) % len(PRODUCT_ROWS)], columns, inner)
            yield (OperatorTrial(operator="gemm_tn", precision="fp8", shape=shape),)


def _attentions() -> Iterator[tuple[OperatorTrial, ...]]:
    for head_dim in (128, 64, 96, 160):
        for sequence in ATTENTIONS:
            for batch, heads in ((1, 8), (1, 32), (2, 16), (4, 8), (4, 32), (1, 4)):
                if batch * sequence <= 2 * max(ATTENTIONS):
                    shape = (batch, sequence, heads, head_dim)
                    yield tuple(
                        OperatorTrial(operator=name, precision="bf16", shape=shape)
                        for name in ("attention_forward", "attention_backward")
                    )


def _memory_bound() -> Iterator[tuple[OperatorTrial, ...]]:
    for name in MEMORY_BOUND:  # the host's share, first of all
        yield (OperatorTrial(operator=name, precision="bf16", shape=TINY),)
    for size in (100_000_000, 500_000_000):
        yield (OperatorTrial(operator="adamw_fused", precision="fp32", shape=(size, 1)),)
        yield (OperatorTrial(operator="adamw_fused_bf16", precision="bf16", shape=(size, 1)),)
    for columns in (32000, 51200, 128256):
        yield (OperatorTrial(operator="cross_entropy", precision="fp32", shape=(4096, columns)),)
    for values in VALUES:
        for columns in COLUMNS_OF_ROWS:
            for name in MEMORY_BOUND:
                shape = (values // columns, columns)
                yield (OperatorTrial(operator=name, precision="bf16", shape=shape),)
