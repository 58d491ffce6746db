#!/usr/bin/env bash
# Fuzzes targets of unittests/Fuzz, one after the other: scripts/fuzz.sh SECONDS [TARGET...]
#
# TARGET is FuzzBank, FuzzFormation, FuzzJob, FuzzJournal, FuzzPlan or FuzzVerdict; all of them by
# default. Builds the preset fuzz, seeds from the repository, and keeps the corpus, the log and
# what was found in build/fuzz/run/TARGET. Goes on after a finding; exits with 2 if there is one.
set -o errexit -o nounset -o pipefail
cd "$(dirname "$0")/.."
case "${1:-}" in
  "" | -h | --help) sed -n '2,6s/^# \{0,1\}//p' "$0"; exit 0 ;;
esac
seconds=$1
shift
targets=("$@")
[ ${#targets[@]} != 0 ] || targets=(FuzzJob FuzzVerdict FuzzPlan FuzzBank FuzzJournal FuzzFormation)
scripts/build.sh fuzz "${targets[@]}"
run=$PWD/build/fuzz/run
rm -rf "$run/seeds" "$run/searches"
scripts/build.sh dev fastk-opt
for search in conv2d groupnorm_silu; do
  scripts/replay-search.sh $search "$run/searches/$search"
done
python3 unittests/Fuzz/make_seeds.py "$run/seeds" "$run/searches"
found=0
for target in "${targets[@]}"; do
  name=$(tr '[:upper:]' '[:lower:]' <<<"${target#Fuzz}")
  folder=$run/$target
  mkdir -p "$folder/corpus" "$folder/findings"
  dictionary=unittests/Fuzz/json.dict
  case $target in FuzzBank | FuzzFormation) dictionary=unittests/Fuzz/mlir.dict ;; esac
  echo "fuzz.sh: $target for $seconds s; log: $folder/log"
  # In a child, so that a finding ends neither the run nor what it learnt. MLIR's library is not
  # instrumented: it fills containers and arenas whose unused part our code has poisoned.
  ASAN_OPTIONS=allow_user_poisoning=0:detect_container_overflow=0:allocator_may_return_null=1 nice -n 19 \
    timeout $((seconds + 300)) "build/fuzz/fuzz/$target" -fork=1 -ignore_crashes=1 -ignore_ooms=1 \
    -ignore_timeouts=1 -max_total_time="$seconds" -timeout=20 -rss_limit_mb=3000 \
    -max_len=32768 -dict="$dictionary" -artifact_prefix="$folder/findings/" \
    "$folder/corpus" "$run/seeds/$name" >"$folder/log" 2>&1 || true
  tail -n 2 "$folder/log"
  found=$((found + $(find "$folder/findings" -type f ! -name "slow-unit-*" | wc -l)))
done
if [ "$found" != 0 ]; then
  echo "fuzz.sh: $found findings under $run; run a target on one of them to see it" >&2
  exit 2
fi
