#!/bin/sh
#SBATCH -N 128
#SBATCH --gpus-per-node=8
# GPT-3 175B as examples/gpt3 of older Megatron-LM releases start it: one string, srun, sh -c.
options=" --tensor-model-parallel-size 8 \
    --pipeline-model-parallel-size 16 \
    --num-layers-per-virtual-pipeline-stage 3 \
    --num-layers 96 --hidden-size 12288 --num-attention-heads 96 \
    --seq-length 2048 --max-position-embeddings 2048 \
    --micro-batch-size 1 --global-batch-size 1536 \
    --rampup-batch-size 16 16 5859375 \
    --tokenizer-type GPT2BPETokenizer --vocab-file gpt2-vocab.json \
    --checkpoint-activations --fp16 --use-legacy-models "
run_cmd="cd /work && python -u pretrain_gpt.py ${options}"
srun -l --container-image "megatron.sqsh" sh -c "${run_cmd}"
