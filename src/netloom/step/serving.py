"""How fast a cluster answers: time to first token, time per token, tokens per second.

Requests of one length arrive as fast as they are answered; nothing waits in a queue. Prompts are
read one at a time by each copy of the attention. Either the same instances read prompts and
decode in turn, or prompts are read on instances of their own, which send the keys and values on.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from netloom.compute.roofline import roofline
from netloom.errors import InfeasibleError, SpecError
from netloom.provenance import Validity
from netloom.step.serving_explain import explain
from netloom.step.serving_memory import Load, check_serving_memory
from netloom.step.serving_model import Pools, Service, Times, Transfer
from netloom.step.serving_pass import ServingMachine, pass_time
from netloom.workload.instance import instance_layout
from netloom.workload.serving import Pass, cache_transfer
from netloom.workload.transformer import transformer

if TYPE_CHECKING:
    from netloom.compute.roofline import Roofline
    from netloom.engines.base import Engine
    from netloom.fabric.network import Network
    from netloom.parts.parts import Gpu, Model
    from netloom.spec.inference import Serving
    from netloom.spec.scenario import Placement, Precision
    from netloom.step.serving_memory import ServingMemory
    from netloom.step.serving_pass import PassDuration
    from netloom.workload.placement import Layout
    from netloom.workload.transformer import Transformer

__all__ = ["serve", "share_out"]

# Prompts whose keys and values an instance that reads prompts keeps for each copy of the
# attention: the one it reads and the one it still sends. Assumed.
PROMPTS_HELD: Final = 2

COMPARED: Final = (
    "Services without spread experts were compared on one node only: passes alone were within "
    "15 %, throughput with prompts between tokens 12 to 25 % too low, that of a 2023 library up "
    "to 60 % off."
)
# By whether the experts are reached by DeepEP (docs/models/serving.md).
SPREAD: Final = {
    True: "Experts spread over nodes were compared with one service, which overlaps: with "
    "expert_overlap prompts came out 6 % and tokens 9 % too fast, without it 23 and 15 % too slow.",
    False: "Experts spread over nodes by all-to-all were compared with one service, which ran "
    "DeepEP: they came out 47 to 56 % too slow.",
}
NEVER_QUEUED: Final = "Requests are all of one length and never queue: real latencies have tails."
ATTENTION: Final = (
    "decode attention was measured with 128 and more pairs of request and key-value head; with "
    "fewer the kernel is taken to divide the context"
)


def serve(
    serving: Serving, *, model: Model, network: Network, engine: Engine, placement: Placement
) -> Service:
    """Return how fast all GPUs of *network* serve *model*.

    Args:
        serving: The requests and the instances.
        model: The model's shape.
        network: The machines and what connects them.
        engine: Asked for each collective.
        placement: How nodes are handed out.

    Raises:
        SpecError: the instances cannot be laid out, or the batch does not divide over them.
        InfeasibleError: they do not fit in a GPU's memory, or not in the cluster.
    """
    plan = _plan(serving, model, network, placement)
    machine = ServingMachine(
        layers=_roofline(network.gpu, serving.precision),
        logits=_roofline(network.gpu, "bf16" if serving.precision == "fp8" else serving.precision),
        network=network,
        engine=engine,
    )
    memory = _memories(plan, network.gpu)
    prefill = pass_time(plan.shape, plan.reader, plan.reading, machine)
    decode = pass_time(plan.shape, plan.decoder, plan.decoding, machine)
    transfer = _transfer(plan, prefill, machine) if serving.disaggregated else None
    times = _times(plan, prefill, decode, transfer)
    pools = _pools(plan, times, num_gpus=network.design.num_gpus)
    validity = _doubts(plan) & machine.layers.validity & prefill.validity & decode.validity
    if transfer is not None:
        validity &= transfer.outcome.validity
    return Service(
        time_to_first_token_s=times.first_s,
        time_per_token_s=times.token_s,
        decode_step_s=times.step_s,
        output=serving.output,
        num_gpus=network.design.num_gpus,
        pools=pools,
        prefill=prefill,
        decode=decode,
        transfer=transfer,
        prefill_memory=memory[0],
        decode_memory=memory[1],
        validity=validity,
        why=explain(serving, times, pools, machine=machine, passes=(prefill, decode)),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _ServingPlan:
    """The instances, and the pass that each of them repeats."""

    serving: Serving
    shape: Transformer
    reader: Layout
    decoder: Layout
    num_nodes: int

    @property
    def weight_bytes(self) -> int:
        return 1 if self.serving.precision == "fp8" else 2

    @property
    def reading(self) -> Pass:
        """One prompt in each copy of the attention."""
        prompt = self.serving.prompt
        return Pass(requests=1, tokens=prompt, context=prompt, weight_bytes=self.weight_bytes)

    @property
    def decoding(self) -> Pass:
        """One token of each request of the batch that one stage works on."""
        at_once = self.serving.batch // (self.decoder.data * self.decoder.pipeline)
        context = self.serving.mean_context
        return Pass(requests=at_once, tokens=1, context=context, weight_bytes=self.weight_bytes)


def _doubts(plan: _ServingPlan) -> Validity:
    """Return what of the service no measurement answers for."""
    doubts = [COMPARED, NEVER_QUEUED, ATTENTION]
    plans = (plan.reader, plan.decoder)
    if plan.serving.disaggregated:
        doubts.append("no service whose prompts are read on instances of their own was compared")
    if any(one.expert > 1 for one in plans):
        doubts.append(SPREAD[all(one.expert_dispatch == "deepep" for one in plans)])
    if any(one.pipeline > 1 for one in plans):
        doubts.append("no service in several stages was compared")
    if any(one.expert == 1 and one.num_gpus > one.gpus_per_node for one in plans):
        doubts.append("no instance on several nodes was compared but with spread experts")
    return Validity(tuple(doubts))


def _plan(serving: Serving, model: Model, network: Network, placement: Placement) -> _ServingPlan:
    where = "serving.prefill" if serving.prefill else "serving.decode"
    node = network.node
    plan = _ServingPlan(
        serving=serving,
        shape=transformer(model),
        reader=instance_layout(
            serving.prefill_instance, where=where, model=model, node=node, placement=placement
        ),
        decoder=instance_layout(
            serving.decode, where="serving.decode", model=model, node=node, placement=placement
        ),
        num_nodes=network.design.num_nodes,
    )
    at_once = plan.decoder.data * plan.decoder.pipeline
    if serving.batch % at_once:
        near = max(1, round(serving.batch / at_once)) * at_once
        raise SpecError(
            key="serving.batch",
            what=(
                f"{serving.batch} requests do not divide over data {plan.decoder.data} x "
                f"pipeline {plan.decoder.pipeline} of serving.decode"
            ),
            remedy=f"use {near}",
        )
    return plan


def _roofline(gpu: Gpu, precision: Precision) -> Roofline:
    if gpu.peak.at(precision) is None:
        raise SpecError(
            key="serving.precision",
            what=f"{gpu.name} has no {precision}",
            remedy=f"it has {gpu.peak.precisions()}",
        )
    return roofline(gpu, precision)


def _memories(plan: _ServingPlan, gpu: Gpu) -> tuple[ServingMemory, ServingMemory]:
    """Return what a GPU that reads prompts holds, and one that decodes.

    Raises:
        InfeasibleError: it does not fit.
    """
    serving, decoder = plan.serving, plan.decoder
    apart = serving.disaggregated
    decode = Load(
        requests=serving.batch,
        length=serving.prompt + serving.output,
        tokens=plan.decoding.requests if apart else max(plan.decoding.requests, serving.prompt),
        step=decoder.data * decoder.pipeline,
        weight_bytes=plan.weight_bytes,
    )
    held = check_serving_memory(plan.shape, decoder, decode, gpu=gpu, where="serving.batch")
    if not apart:
        return held, held
    prefill = Load(
        requests=PROMPTS_HELD * plan.reader.data,
        length=serving.prompt,
        tokens=serving.prompt,
        step=plan.reader.data,
        weight_bytes=plan.weight_bytes,
    )
    where = "serving.prompt"
    return check_serving_memory(plan.shape, plan.reader, prefill, gpu=gpu, where=where), held


def _transfer(plan: _ServingPlan, prefill: PassDuration, machine: ServingMachine) -> Transfer:
    """Return the way of one prompt's keys and values.

    A layer's are sent as soon as they are computed, beside the next layer's computation; the last
    stage is the last to finish. L layers of c seconds of computation and t of sending take
    max(L c + t, c + L t).
    """
    serving, layers, most = plan.serving, prefill.num_layers[-1], max(prefill.num_layers)
    what = cache_transfer(
        plan.shape, serving.prompt, plan.reader, plan.decoder, num_nodes=plan.num_nodes
    )
    outcome = machine.engine.run(what, machine.network)
    layer_s = outcome.duration_s
    computed_s = prefill.stages_s[-1] / layers
    return Transfer(
        layer_s=layer_s,
        total_s=most * layer_s,
        exposed_s=max(layer_s, layers * layer_s - (layers - 1) * computed_s),
        size_bytes=most * what.size_bytes,
        outcome=outcome,
    )


def _times(
    plan: _ServingPlan, prefill: PassDuration, decode: PassDuration, transfer: Transfer | None
) -> Times:
    """Return the times of requests, and what they cost an instance.

    Instances that do both read a prompt whenever a request ends, so that of the ``output - 1``
    steps of a request, the prompts of a whole batch stand in between; a new prompt waits for half
    a step in the mean. Instances apart are bound by their network where sending the keys and
    values takes longer than computing them, or than the requests that they are for.
    """
    serving, steps = plan.serving, plan.serving.output - 1
    step_s = decode.cycle_s(plan.decoder.pipeline)
    prompt_s = prefill.slowest_s / plan.reader.data
    if transfer is None:
        between_s = serving.batch * prompt_s / steps
        return Times(
            first_s=prefill.through_s + step_s / 2,
            token_s=step_s + between_s,
            step_s=step_s,
            prompt_s=prompt_s,
            request_s=steps * step_s / serving.batch + prompt_s,
            transfer=None,
        )
    return Times(
        first_s=prefill.through_s + transfer.exposed_s,
        token_s=step_s,
        step_s=step_s,
        prompt_s=max(prompt_s, transfer.total_s / plan.reader.data),
        request_s=max(steps * step_s / serving.batch, transfer.total_s / plan.decoder.data),
        transfer=transfer,
    )


def _pools(plan: _ServingPlan, times: Times, *, num_gpus: int) -> Pools:
    serving = plan.serving
    each = serving.prefill_instance.num_gpus, serving.decode.num_gpus
    if serving.disaggregated:
        return share_out(
            num_gpus, gpus=each, requests_per_s=(1 / times.prompt_s, 1 / times.request_s)
        )
    count, idle = divmod(num_gpus, each[1])
    if not count:
        raise _too_small(num_gpus, key="serving.decode", wanted=f"an instance of {each[1]}")
    rate = count / times.request_s
    return Pools(prefill=0, decode=count, idle_gpus=idle, requests_per_s=rate, bound="both")


def share_out(
    num_gpus: int, *, gpus: tuple[int, int], requests_per_s: tuple[float, float]
) -> Pools:
    """Return the numbers of instances that answer most requests together.

    With more instances that read, those never answer less and the others, which share what is
    left, never more: the best is on one side of where the two cross.

    Args:
        num_gpus: Of the cluster.
        gpus: Of one instance that reads prompts, and of one that decodes.
        requests_per_s: What each answers.

    Raises:
        InfeasibleError: there is no room for one of each.
    """
    if sum(gpus) > num_gpus:
        wanted = f"one instance of each kind, {gpus[0]} and {gpus[1]}"
        raise _too_small(num_gpus, key="serving", wanted=wanted)
    least, most = 1, (num_gpus - gpus[1]) // gpus[0]

    def rates(num_readers: int) -> tuple[float, float]:
        left = (num_gpus - num_readers * gpus[0]) // gpus[1]
        return num_readers * requests_per_s[0], left * requests_per_s[1]

    low, high = least, most
    while low < high:  # the most readers that do not outrun what is left
        middle = (low + high + 1) // 2
        reading, decoding = rates(middle)
        low, high = (middle, high) if reading <= decoding else (low, middle - 1)
    best = max((low, min(low + 1, most)), key=lambda count: min(rates(count)))
    reading, decoding = rates(best)
    num_decoders = (num_gpus - best * gpus[0]) // gpus[1]
    return Pools(
        prefill=best,
        decode=num_decoders,
        idle_gpus=num_gpus - best * gpus[0] - num_decoders * gpus[1],
        requests_per_s=min(reading, decoding),
        bound="prefill" if reading < decoding else "decode",
    )


def _too_small(num_gpus: int, *, key: str, wanted: str) -> InfeasibleError:
    return InfeasibleError(
        key=key,
        what=f"{wanted} GPUs does not fit in the cluster's {num_gpus:,}",
        remedy="use a larger cluster or smaller degrees",
    )
