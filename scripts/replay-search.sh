#!/usr/bin/env bash
# Makes the journal of a search in docs/searches from its record, with neither a language
# model nor a GPU: every prompt and every verdict is answered from there.
#
#   scripts/replay-search.sh SEARCH FOLDER
#
# SEARCH is conv2d, conv2d_relu_maxpool, groupnorm_silu, matmul_f16/branching or
# matmul_f16/sequential. FOLDER gets record.jsonl, journal, bank and found.json (fastk-opt
# --report). Needs build/dev; another build's programs are named in FASTK_BIN.
set -o errexit -o nounset -o pipefail
case "${1:-}" in "" | -h | --help) sed -n '2,9s/^# \{0,1\}//p' "$0"; exit 0 ;; esac
[ $# = 2 ] || { echo "replay-search.sh: give a search and a folder; see --help" >&2; exit 1; }
mkdir -p "$2"
folder=$(realpath "$2")
cd "$(dirname "$0")/.."
bin=$(realpath "${FASTK_BIN:-build/dev/bin}")
model=test/Inputs/golden/matmul_f16.mlir
case "$1" in
  conv2d)
    model=test/Inputs/golden/conv2d.mlir
    options=(--precision=half --rounds=6 --ideas=4 --implementations=2 --repairs=2
      --budget=tokens=718000,evaluations=97) ;;
  conv2d_relu_maxpool)
    model=test/Inputs/golden/conv2d_relu_maxpool.mlir
    options=(--precision=half --rounds=2 --ideas=3 --implementations=1 --repairs=1
      --budget=evaluations=4) ;;
  groupnorm_silu)
    model=docs/searches/groupnorm_silu/model.mlir
    options=(--rounds=4 --ideas=4 --implementations=2 --budget=evaluations=19) ;;
  matmul_f16/branching)
    options=(--rounds=2 --ideas=2 --implementations=2 --budget=evaluations=24) ;;
  matmul_f16/sequential)
    options=(--strategy=sequential --rounds=2 --ideas=2 --implementations=2
      --budget=evaluations=5) ;;
  *) echo "replay-search.sh: docs/searches has no '$1'; see --help" >&2; exit 1 ;;
esac
[ -x "$bin/fastk-opt" ] || {
  echo "replay-search.sh: no fastk-opt in $bin; run scripts/build.sh dev, or name its folder in FASTK_BIN" >&2
  exit 1
}
xz -dc "docs/searches/$1/record.jsonl.xz" >"$folder/record.jsonl"
# Prompts have changed since: they are found by name. What programs are in PATH changes nothing.
exec env PATH=/nowhere FASTK_CUDA_PATH=/nowhere "$bin/fastk-opt" "$model" --target=cuda:sm_90a \
  --search "${options[@]}" "--proposer=replay:$folder/record.jsonl?prompts=any" \
  "--evaluator=replay:$folder/record.jsonl" "--bank=$folder/bank" "--journal=$folder/journal" \
  "--report=$folder/found.json" -o "$folder/compiled.mlir"
