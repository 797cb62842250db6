"""Weights that ZeRO 3 gathers module by module, as DeepSpeed did in 2021."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["ModuleGathers"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModuleGathers:
    """Each weight gathered when its module is to run, and its gradient summed when it is there.

    Attributes:
        rank_s: What the host takes for each rank's share of a weight, while the GPU waits.
        live_parameters: The next module's weight is gathered ahead while fewer are gathered.
        reuse_parameters: A weight is released where more parameters are used before it is again.
        num_weights: Of a layer, biases and norms apart, which every rank keeps whole.
        largest: The largest weight's share of a layer.
    """

    rank_s: float
    live_parameters: float = 1e9
    reuse_parameters: float = 1e9
    num_weights: int = 4
    largest: float = 1 / 3

    def is_ahead(self, layer_parameters: float) -> bool:
        """Return whether the next weight can be gathered while a module runs."""
        return self.largest * layer_parameters < self.live_parameters

    def is_released(self, layer_parameters: float) -> bool:
        """Return whether a layer that is computed again is gathered once more for backward."""
        return layer_parameters > self.reuse_parameters
