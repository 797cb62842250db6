"""The switches of the software that Megatron's settings state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, get_args

from netloom.spec.software import GraphedModule

if TYPE_CHECKING:
    from netloom.formats.training.statements import Statements

__all__ = ["megatron_software"]

KEY: Final = "job.software"
LEGACY: Final = "megatron-2022"
# What states a switch, where that is not its own name.
_STATED: Final = {
    "tensor_overlap": ("tp_comm_overlap",),
    "pipeline_overlap": ("overlap_p2p_comm",),
    "data_overlap": ("overlap_grad_reduce", "overlap_param_gather"),
    "gradient_type": (
        "grad_reduce_in_bf16",
        "grad_reduce_in_fp32",
        "accumulate_allreduce_grads_in_fp32",
    ),
    "cuda_graphs": ("cuda_graph_impl", "enable_cuda_graph", "external_cuda_graph"),
    "manual_gc": ("manual_gc", "manual_gc_interval"),
    "bucket_bytes": ("ddp_bucket_size",),
    "parameter_type": ("fp8_param_gather", "fp8_param"),
    "attention": ("attention_backend",),
    "recompute_modules": ("recompute_modules", "moe_layer_recompute"),
    "optimizer_offload": ("optimizer_cpu_offload",),
    "activation_offload": ("cpu_offloading",),
    "graph_scope": ("cuda_graph_scope",),
}
_MODULES: Final = (
    "core_attn",
    "moe_act",
    "layernorm",
    "mla_up_proj",
    "mlp",
    "moe",
    "shared_experts",
)


def megatron_software(
    found: Statements, name: str, *, complete: bool, sharded: bool, tensor: int, virtual: int
) -> dict[str, Any]:
    """Return the keys of ``job.software``.

    Args:
        found: What is stated.
        name: The practice where the models are Megatron-Core's.
        complete: Whether what is left out has Megatron-LM's default, which is off; else it is as
            the practice does it.
        sharded: Whether data-parallel ranks share the optimizer's state.
        tensor: Ranks of a tensor group.
        virtual: Chunks of layers in each stage.
    """
    legacy = found.flag("use_legacy_models", f"{KEY}.name")
    said = _switches(found, sharded=sharded, tensor=tensor, virtual=virtual)
    if legacy or not complete:
        said = {key: value for key, value in said.items() if _is_stated(found, key)}
    return {"name": LEGACY if legacy else name, **said}


def _is_stated(found: Statements, switch: str) -> bool:
    names = _STATED.get(switch, (switch,))
    return any(name in found and found.peek(name) != "null" for name in names)


def _switches(found: Statements, *, sharded: bool, tensor: int, virtual: int) -> dict[str, Any]:
    gradients = _gradient_type(found)
    stated: dict[str, Any] = {
        "tensor_overlap": _tensor_overlap(found, tensor),
        "pipeline_overlap": _pipeline_overlap(found, virtual),
        "data_overlap": _data_overlap(found, sharded=sharded),
        "gradient_type": gradients,
        "cuda_graphs": _graphs(found),
        "manual_gc": found.flag("manual_gc", f"{KEY}.manual_gc"),
    }
    if found.count("manual_gc_interval", f"{KEY}.manual_gc", least=0):
        stated["manual_gc"] |= "manual_gc" not in found  # NeMo 1 has the interval alone
    elements = found.count("ddp_bucket_size", f"{KEY}.bucket_bytes")
    if elements:
        stated["bucket_bytes"] = elements * (4 if gradients == "fp32" else 2)
    if found.flag("fp8_param_gather", f"{KEY}.parameter_type") or found.flag(
        "fp8_param", f"{KEY}.parameter_type"
    ):
        stated["parameter_type"] = "fp8"
    if stated["cuda_graphs"]:
        stated |= _graph_scope(found)
    return stated | _attention(found) | _recomputed(found) | _offload(found) | _kept_by_host(found)


def _tensor_overlap(found: Statements, tensor: int) -> bool:
    on = found.flag("tp_comm_overlap", f"{KEY}.tensor_overlap")
    return on and tensor > 1 and found.flag("sequence_parallel", "job.parallel.sequence_parallel")


def _pipeline_overlap(found: Statements, virtual: int) -> bool:
    """Return whether transfers are hidden: on when left out, and only between chunks."""
    return found.flag("overlap_p2p_comm", f"{KEY}.pipeline_overlap", default=True) and virtual > 1


def _data_overlap(found: Statements, *, sharded: bool) -> bool:
    key = f"{KEY}.data_overlap"
    reduces = found.flag("overlap_grad_reduce", key)
    gathers = found.flag("overlap_param_gather", key)
    if sharded and reduces != gathers:
        side = "overlap_grad_reduce" if reduces else "overlap_param_gather"
        reason = "one side of the data-parallel traffic alone is overlapped; neither is here"
        found.refuse(side, reason)
        return False
    return reduces


def _gradient_type(found: Statements) -> str:
    key = f"{KEY}.gradient_type"
    low = found.flag("grad_reduce_in_bf16", key)
    high = found.flag("grad_reduce_in_fp32", key, default=True)
    summed = found.flag("accumulate_allreduce_grads_in_fp32", key)
    if found.flag("fp16", "job.training.precision") and not summed:
        low = True  # arguments.py raises them to 32 bits with bf16 alone
    return "bf16" if low or not high else "fp32"


def _graphs(found: Statements) -> bool:
    key = f"{KEY}.cuda_graphs"
    kind = found.word("cuda_graph_impl", key, "none").lower()
    plain = found.flag("enable_cuda_graph", key)
    return found.flag("external_cuda_graph", key) or plain or kind not in {"none", "false"}


def _graph_scope(found: Statements) -> dict[str, Any]:
    """Return the parts of a layer with experts that graphs launch, where they launch some alone."""
    if not found.count("num_moe_experts", "job.model", least=0):
        return {}
    name = "cuda_graph_scope"
    parts = [one.rsplit(".", 1)[-1] for one in found.words(name, f"{KEY}.graph_scope")]
    if not parts or set(parts) <= set(get_args(GraphedModule)):
        return {"graph_scope": parts} if parts else {}
    if not set(parts) & {"full", "full_iteration"}:
        found.refuse(name, "graphs of whole layers stand here")
    return {}


def _attention(found: Statements) -> dict[str, Any]:
    """Return the kernel where it is unfused; of a fused one the generation is not stated."""
    key = f"{KEY}.attention"
    backend = found.word("attention_backend", key).rsplit(".", 1)[-1].lower()
    found.flag("use_flash_attn", key)
    if found.word("transformer_impl", KEY) == "local":
        found.refuse("transformer_impl", "kernels of Transformer Engine are modelled")
    return {"attention": "unfused"} if backend in {"unfused", "local"} else {}


def _recomputed(found: Statements) -> dict[str, Any]:
    key = f"{KEY}.recompute_modules"
    modules = list(found.words("recompute_modules", key))
    if found.flag("moe_layer_recompute", key):
        modules.append("moe")
    if not modules or found.peek("recompute_granularity") != "selective":
        return {}
    if any(one not in _MODULES for one in modules):
        found.reject("recompute_modules", f"names other modules than {', '.join(_MODULES)}")
    return {"recompute_modules": modules}


def _offload(found: Statements) -> dict[str, Any]:
    key = f"{KEY}.optimizer_offload"
    share = found.number("optimizer_offload_fraction", key)
    if not found.flag("optimizer_cpu_offload", key):
        found.refuse("optimizer_offload_fraction", "has no say without --optimizer-cpu-offload")
        return {}
    if share is not None and share > 1:
        found.reject("optimizer_offload_fraction", "is no share from 0 to 1")
    return {"optimizer_offload": 1.0 if share is None else share}


def _kept_by_host(found: Statements) -> dict[str, Any]:
    key = f"{KEY}.activation_offload"
    layers = found.count("cpu_offloading_num_layers", key, least=0)
    if not found.flag("cpu_offloading", key):
        found.refuse("cpu_offloading_num_layers", "has no say without cpu_offloading")
        return {}
    return {"activation_offload": layers or 0}
