#!/usr/bin/env bash
# Installs, builds and runs fastk's main job on a model that is shipped: a GPT-2
# style transformer block, imported from Torch.
#
#   scripts/demo.sh [MODEL.mlir] [MINUTES] [FOLDER]
#
# Default: the block, 4 minutes, build/demo. FOLDER gets the bank of winners, the
# compiled model and a report; with the same folder again an interrupted search
# goes on.
set -o errexit -o nounset -o pipefail
case "${1:-}" in -h | --help) sed -n '2,9s/^# \{0,1\}//p' "$0"; exit 0 ;; esac
# What is named is named from where the person stands.
[ -z "${1:-}" ] || set -- "$(realpath "$1")" "${@:2}"
[ -z "${3:-}" ] || set -- "$1" "$2" "$(realpath "$3")"
cd "$(dirname "$0")/.."
model=${1:-test/Inputs/golden/transformer_block.mlir}
minutes=${2:-4}
bin=build/dev/bin
out=${3:-build/demo}
bank=$out/bank
mkdir -p "$bank"

# Each step is announced with the time that has gone by.
step() { printf '\n== %d:%02d  %s\n' $((SECONDS / 60)) $((SECONDS % 60)) "$*"; }

step "1. Install what fastk is built from: LLVM and MLIR 22 from Debian"
scripts/install-deps.sh

step "2. Build the compiler and its tools; the tests are not built"
scripts/build.sh dev fastk-opt fastk-run fastk-bank fastk-worker

step "3. Search the workloads of $model for $minutes minutes; winners go to $bank"
"$bin/fastk-opt" "$model" --search --bank="$bank" --budget="minutes=$minutes" \
  --report="$out/report.json" -o "$out/model.mlir"

if ! ls "$bank"/host/*/lowering.mlir >/dev/null 2>&1; then
  # What was measured once, and what kept it from being measured again, is above.
  if grep -qs '"unproven"' "$out/report.json"; then
    what="faster kernels were measured, and none could be measured a second time"
  else
    what="no faster kernel was found"
  fi
  echo "demo: $what in $minutes minutes; give it more, it goes on where it was:" \
    "scripts/demo.sh $model $(awk "BEGIN { print 3 * $minutes }") $out" >&2
  exit 2
fi

step "4. What was found"
"$bin/fastk-bank" list "$bank"

step "5. Compile again: no search, the same winners, the same bytes"
"$bin/fastk-opt" "$model" --bank="$bank" --require-hits=1 -o "$out/again.mlir"
cmp "$out/model.mlir" "$out/again.mlir" && echo "$out/again.mlir equals $out/model.mlir"

step "6. Run it: compare with the model in f64, time it beside the default lowering"
"$bin/fastk-run" "$model" --bank="$bank" --check --time

step "Done"
echo "With more minutes, workloads that have no winner yet are searched on: scripts/demo.sh $model 20"
echo "The commands are in $bin; README.md, \"Use it\", says how to bring your own model."
