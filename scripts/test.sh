#!/usr/bin/env bash
# Installs, builds and runs every test of fastk: unit, lit and Python.
#
#   scripts/test.sh            everything; first the format and the generated docs
#   scripts/test.sh TEST...    only these, built first: a file or folder of test/ or
#                              python/tests/, or a program of unittests, with a filter
#                              behind a colon: FastkBankTests:Digest.*
set -o errexit -o nounset -o pipefail
case "${1:-}" in -h | --help) sed -n '2,7s/^# \{0,1\}//p' "$0"; exit 0 ;; esac
cd "$(dirname "$0")/.."
failed=()
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT

# Runs a command; $1 is what to say of it at the end if it fails.
check() {
  local what=$1
  shift
  "$@" 2>&1 | tee "$logs/$what" || failed+=("$what")
}

# What failed, once more: it may be an hour of output above.
say_failed() {
  local what
  for what in "${failed[@]}"; do
    printf '\ntest.sh: the end of what failed in: %s\n' "$what"
    # lit, GoogleTest, pytest; and the last lines of whatever else failed.
    grep -aE '^(  fastk :: |\[  FAILED  \] |FAILED |ERROR )' "$logs/$what" |
      sort -u | head -n 40 || tail -n 20 "$logs/$what"
    # Of lit also what the last one that failed printed.
    awk '/^\*+ TEST .* FAILED/, /^\*+$/' "$logs/$what" | tail -n 40
  done
}

run_named() {
  local programs=() lits=() pythons=() name
  for name in "$@"; do
    case $name in
      test/*) lits+=("build/dev/$name") ;;
      python/tests/*) pythons+=("$name") ;;
      *) programs+=("$name") ;;
    esac
    case $name in
      test/* | python/tests/*)
        [ -e "${name%%::*}" ] || { echo "test.sh: there is no $name" >&2; exit 1; } ;;
    esac
  done
  if [ ${#programs[@]} != 0 ]; then
    scripts/build.sh dev "${programs[@]%%:*}"
    for name in "${programs[@]}"; do
      local filter='*'
      [ "${name%%:*}" = "$name" ] || filter=${name#*:}
      check "$name" "build/dev/unittests/${name%%:*}" "--gtest_filter=$filter"
    done
  fi
  # With all that it may call, as lit does not build.
  [ ${#lits[@]} = 0 ] && [ ${#pythons[@]} = 0 ] || scripts/build.sh dev fastk-tools
  [ ${#lits[@]} = 0 ] || check "lit tests" /usr/lib/llvm-22/bin/lit -v "${lits[@]}"
  [ ${#pythons[@]} = 0 ] || check "Python tests" .venv/bin/python -m pytest "${pythons[@]}"
}

run_all() {
  # CUDA's compile tools need no GPU: what is compiled for one is tested anywhere.
  scripts/install-deps.sh --import --models --cuda --llm --remote --ray --site --notebooks
  # With the wheel's programs: two tests must not build at once.
  scripts/build.sh dev all fastk-wheel
  check "clang-format" scripts/lint.sh --format
  check "generated docs" scripts/generate-docs.sh --check
  check "unit tests" cmake --build build/dev --target check-fastk-unit
  check "lit tests" cmake --build build/dev --target check-fastk-lit
  # Tests that take times on this machine run alone.
  check "Python tests" .venv/bin/python -m pytest -q -n auto --maxprocesses=4 --dist loadfile \
    --no-loadscope-reorder --durations=30 -m 'not measures' python/tests
  check "Python tests that measure" .venv/bin/python -m pytest -q --durations=15 -m measures python/tests
}

if [ $# = 0 ]; then run_all; else run_named "$@"; fi
if [ ${#failed[@]} != 0 ]; then
  say_failed >&2
  printf 'test.sh: FAILED: %s\n' "$(IFS=,; echo "${failed[*]}")" >&2
  exit 1
fi
echo "test.sh: all tests passed"
