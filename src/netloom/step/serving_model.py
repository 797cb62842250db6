"""What is known of a service."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from netloom.engines.base import Outcome
    from netloom.provenance import Validity, Why
    from netloom.step.serving_memory import ServingMemory
    from netloom.step.serving_pass import PassDuration

__all__ = ["Pools", "Service", "Times", "Transfer"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Transfer:
    """The keys and values of one prompt on their way to the instance that decodes.

    Attributes:
        layer_s: One layer's, on one GPU.
        total_s: All layers of the fullest stage, one after another.
        exposed_s: What is left when the prompt has been read.
        size_bytes: What one GPU sends of one prompt.
    """

    layer_s: float
    total_s: float
    exposed_s: float
    size_bytes: float
    outcome: Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Times:
    """What follows from the two passes.

    Attributes:
        first_s: To the first token.
        token_s: Between later tokens.
        step_s: One decode step.
        prompt_s: What a prompt costs an instance that reads one after another.
        request_s: What a request costs an instance that decodes, its prompt included where it
            reads that too.
        transfer: None where the same instances do both.
    """

    first_s: float
    token_s: float
    step_s: float
    prompt_s: float
    request_s: float
    transfer: Transfer | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pools:
    """How many instances the cluster is divided into, and what they answer.

    Attributes:
        prefill: Instances that only read prompts; 0 where all do both.
        decode: Instances that decode.
        idle_gpus: Left over.
        requests_per_s: Of the whole cluster.
        bound: ``prefill`` or ``decode``, whichever is busy all the time; ``both`` where the same
            instances do both.
    """

    prefill: int
    decode: int
    idle_gpus: int
    requests_per_s: float
    bound: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """How fast a cluster answers requests.

    Attributes:
        time_to_first_token_s: From a prompt's arrival at an instance that can take it to the first
            token at the instance that answers.
        time_per_token_s: Between later tokens of a request, in the mean.
        decode_step_s: One decode step without prompts in between.
        transfer: None where the same instances do both.
        why: How the three headline numbers came about.
    """

    time_to_first_token_s: float
    time_per_token_s: float
    decode_step_s: float
    output: int
    num_gpus: int
    pools: Pools
    prefill: PassDuration
    decode: PassDuration
    transfer: Transfer | None
    prefill_memory: ServingMemory
    decode_memory: ServingMemory
    validity: Validity
    why: Why

    @property
    def request_s(self) -> float:
        """From a request's arrival to its last token."""
        return self.time_to_first_token_s + (self.output - 1) * self.time_per_token_s

    @property
    def tokens_per_s(self) -> float:
        """Tokens that the whole cluster produces, first tokens included."""
        return self.pools.requests_per_s * self.output

    @property
    def tokens_per_s_per_gpu(self) -> float:
        """Over all GPUs of the cluster, idle ones included."""
        return self.tokens_per_s / self.num_gpus
