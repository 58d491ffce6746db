#!/usr/bin/env bash
# Installs, builds and runs fastk's main job on a model that is shipped: a GPT-2
# style transformer block, imported from Torch.
#
#   scripts/demo.sh [MODEL.mlir] [MINUTES]     default: the block, 4 minutes
set -o errexit -o nounset -o pipefail
case "${1:-}" in -h | --help) sed -n '2,5s/^# \{0,1\}//p' "$0"; exit 0 ;; esac
cd "$(dirname "$0")/.."
model=${1:-test/Inputs/golden/transformer_block.mlir}
minutes=${2:-4}
scripts/install-deps.sh
scripts/build.sh dev
bin=build/dev/bin
bank=build/demo-bank

step() { printf '\n== %s\n' "$*"; }

step "1. Search the workloads of $model for $minutes minutes; winners go to $bank"
# A search that was interrupted goes on from its journal.
"$bin/fastk-opt" "$model" --search --bank="$bank" --budget="minutes=$minutes" \
  --report=build/demo-report.json -o build/demo.mlir

step "2. What was found"
"$bin/fastk-bank" list "$bank"

step "3. Compile again: no search, the same winners, the same bytes"
"$bin/fastk-opt" "$model" --bank="$bank" --require-hits=1 -o build/demo-again.mlir
cmp build/demo.mlir build/demo-again.mlir && echo "build/demo-again.mlir equals build/demo.mlir"

step "4. Run it: compare with the model in f64, time it beside the default lowering"
"$bin/fastk-run" "$model" --bank="$bank" --check --time
