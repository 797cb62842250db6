"""Why the numbers of a step are what they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netloom.provenance import Why
from netloom.step.explain import explain_software
from netloom.study.predict.interval import explain_interval, explain_network

if TYPE_CHECKING:
    from netloom.fabric.network import Network
    from netloom.step.model import Step

__all__ = ["explain_step"]


def explain_step(step: Step, network: Network) -> dict[str, Why]:
    """Return how each number of *step* on *network* came about, by its key in the JSON."""
    communication_s = {axis.value: wait_s for axis, wait_s in step.communication_s.items()}
    exposed_s = {axis.value: wait_s for axis, wait_s in step.exposed_s.items()}
    return {
        "step_time_s": step.why,
        "interval": explain_interval(step),
        "network_interval": explain_network(step),
        "mfu": _mfu(step, network),
        "tokens_per_s": _tokens(step),
        "communication_share": _share("communication share", communication_s, step),
        "exposed_share": _share("exposed share", exposed_s, step),
        **({"memory_bytes": step.memory.why} if step.memory.why else {}),
        "software": explain_software(step.practice),
    }


def _mfu(step: Step, network: Network) -> Why:
    peak = network.gpu.source("peak")
    return Why(
        name="MFU",
        value=step.mfu,
        how="model FLOPs of one GPU / (step time x peak FLOP/s)",
        parts=(
            Why(name="model FLOPs of one GPU", value=step.model_flops, unit="FLOP"),
            Why(name="peak", value=step.peak_flops, unit="FLOP/s", source=peak),
            step.why,
        ),
    )


def _tokens(step: Step) -> Why:
    tokens = Why(
        name="tokens of a step", value=step.tokens, how="sequence x global batch of the scenario"
    )
    return Why(
        name="tokens/s",
        value=step.tokens_per_s,
        how="tokens of a step / step time",
        parts=(tokens, step.why),
    )


def _share(name: str, seconds: dict[str, float], step: Step) -> Why:
    waits = (Why(name=axis, value=wait_s, unit="s") for axis, wait_s in seconds.items())
    return Why(
        name=name,
        value=min(1.0, sum(seconds.values()) / step.duration_s),
        how="sum of the parts / step time, at most 1",
        parts=(*waits, step.why),
    )
