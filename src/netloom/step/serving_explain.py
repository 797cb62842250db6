"""How the numbers of a service came about, down to constants."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netloom.provenance import Why

if TYPE_CHECKING:
    from netloom.spec.inference import Serving
    from netloom.step.serving_model import Pools, Times
    from netloom.step.serving_pass import PassDuration, ServingMachine

__all__ = ["explain"]


def explain(
    serving: Serving,
    times: Times,
    pools: Pools,
    *,
    machine: ServingMachine,
    passes: tuple[PassDuration, PassDuration],
) -> Why:
    """Return one tree with the three headline numbers."""
    prefill, decode = passes
    return Why(
        name="service",
        value=f"{serving.prompt:,} tokens in, {serving.output:,} out, batch {serving.batch:,}",
        parts=(
            _first(times, prefill),
            _token(serving, times, decode),
            _throughput(serving, times, pools, num_gpus=machine.network.design.num_gpus),
            machine.layers.why,
        ),
    )


def _first(times: Times, prefill: PassDuration) -> Why:
    reading = Why(
        name="reading the prompt",
        value=prefill.through_s,
        unit="s",
        how="every stage one after another, and the hops between them",
        parts=prefill.parts,
    )
    if times.transfer is None:
        how = "reading the prompt + half the decode step that is under way"
        after = Why(name="decode step", value=times.step_s, unit="s")
    else:
        how = "reading the prompt + keys and values still to send"
        after = Why(
            name="keys and values still to send",
            value=times.transfer.exposed_s,
            unit="s",
            how="layers t - (layers - 1) c, at least t: t to send a layer's, c to compute a layer",
            parts=(times.transfer.outcome.why,),
        )
    value = times.first_s
    return Why(name="time to first token", value=value, unit="s", how=how, parts=(reading, after))


def _token(serving: Serving, times: Times, decode: PassDuration) -> Why:
    step = Why(
        name="decode step",
        value=times.step_s,
        unit="s",
        how="through all stages and back, or the slowest stage as often as there are stages",
        parts=decode.parts,
    )
    context = Why(
        name="tokens looked at",
        value=serving.mean_context,
        how="prompt + output / 2, the mean over a request's steps",
    )
    parts = [step, context]
    how = "decode step"
    if times.transfer is None:
        how = "decode step + batch x prompt / (output - 1)"
        parts.append(Why(name="a prompt in between", value=times.prompt_s, unit="s"))
    value = times.token_s
    return Why(name="time per token", value=value, unit="s", how=how, parts=tuple(parts))


def _throughput(serving: Serving, times: Times, pools: Pools, *, num_gpus: int) -> Why:
    return Why(
        name="tokens per second per GPU",
        value=pools.requests_per_s * serving.output / num_gpus,
        unit="1/s",
        how="requests per second x output / all GPUs of the cluster",
        parts=(
            Why(
                name="requests per second",
                value=pools.requests_per_s,
                unit="1/s",
                how=f"instances over the time of a request; bound by {pools.bound}",
            ),
            Why(name="instances that read prompts only", value=float(pools.prefill)),
            Why(name="instances that decode", value=float(pools.decode)),
            Why(name="a prompt on an instance that reads", value=times.prompt_s, unit="s"),
            Why(name="a request on an instance that decodes", value=times.request_s, unit="s"),
            Why(name="GPUs", value=float(num_gpus)),
        ),
    )
