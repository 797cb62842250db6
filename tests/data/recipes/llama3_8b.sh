#!/bin/bash
#SBATCH --nodes=2
#SBATCH --gres=gpu:8
#SBATCH --job-name=llama
# Llama 3 8B; options in arrays, as examples/llama/train_llama3_8b_h100_fp8.sh of Megatron-LM has them.
export CUDA_DEVICE_MAX_CONNECTIONS=1
export NCCL_ALGO=Ring

TP=${TP:-2}
GPUS_PER_NODE=8
NNODES=${SLURM_NNODES:-1}
WORLD_SIZE=$(($GPUS_PER_NODE*$NNODES))

DISTRIBUTED_ARGS=(
    --nproc_per_node $GPUS_PER_NODE
    --nnodes $NNODES
    --rdzv_backend c10d
)
MODEL_ARGS=(
    --num-layers 32
    --hidden-size 4096
    --ffn-hidden-size 14336
    --num-attention-heads 32
    --group-query-attention
    --num-query-groups 8
    --seq-length 8192
    --max-position-embeddings 8192
    --position-embedding-type rope
    --rotary-base 500000
    --swiglu
    --disable-bias-linear
    --normalization RMSNorm
    --untie-embeddings-and-output-weights
    --vocab-size 128256
    # --attention-dropout 0.1
)
PARALLEL_ARGS="
    --tensor-model-parallel-size $TP \
    --pipeline-model-parallel-size 1 \
    --context-parallel-size 1 \
    --sequence-parallel \
    --use-distributed-optimizer --overlap-grad-reduce --overlap-param-gather
"
DTYPE="fp8"
DTYPE_ARGS=()
if [[ "$DTYPE" == "fp8" ]] || [[ "$DTYPE" == "mxfp8" ]]; then
    DTYPE_ARGS+=(
        "--fp8-format hybrid"
        "--fp8-param-gather"
    )
else
    DTYPE_ARGS+=("--brand-old-switch 7")
fi
mkdir -p "$(dirname "$CHECKPOINTS")"
if [ -n "${WANDB_API_KEY}" ]; then
    LOGGING_ARGS+=(--wandb-project ${WANDB_PROJECT:-"llama"})
fi

torchrun ${DISTRIBUTED_ARGS[@]} pretrain_gpt.py \
    ${MODEL_ARGS[@]} \
    $PARALLEL_ARGS \
    --micro-batch-size 1 --global-batch-size 128 \
    --bf16 ${DTYPE_ARGS[@]} \
    --tp-comm-overlap \
    --lr 1.5e-4 --train-iters 100 --log-interval 1 \
    --data-path "$DATA_PATH" --qk-layernorm \
    --brand-new-switch 3 \
    "${EXTRA_ARGS[@]}" 2>&1 | tee log.txt
