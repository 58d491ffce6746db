#!/bin/bash
# A worker for each GPU, as an array of Slurm jobs:
#
#     sbatch --array=0-7 --gres=gpu:1 slurm.sh /shared/spool [options of fastk-worker]
#
# docs/workers.md tells what they do. Workers end after half an hour without a job.
#SBATCH --job-name=fastk-worker
#SBATCH --cpus-per-task=4
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --output=fastk-worker-%A-%a.log

set -euo pipefail
spool=${1:?the folder that fastk-opt --evaluator=spool:DIR names}
shift
count=${SLURM_ARRAY_TASK_COUNT:-1}
# Any array will do, also 1-8 or a later 8-15: which share a worker begins with only saves meetings.
share=$((${SLURM_ARRAY_TASK_ID:-0} % count))/$count
# The worker gets Slurm's signals itself, and gives its job back.
exec "${FASTK_WORKER:-fastk-worker}" --spool "$spool" --follow --idle="${FASTK_IDLE:-1800}" \
  --share="$share" "$@"
