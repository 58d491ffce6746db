#!/usr/bin/env bash
# Checks the sources without compiling them, and with clang-tidy the files named.
#
#   scripts/lint.sh                    format, layers, sizes, blanks and banners of every file
#   scripts/lint.sh --fix              formats instead of complaining
#   scripts/lint.sh --format           format, layers and sizes alone
#   scripts/lint.sh [--fix] FILE.cpp…  and clang-tidy on these; needs build/dev
#   scripts/lint.sh [--fix] --tidy     and clang-tidy on all of lib, tools and
#                                      unittests: about 15 minutes of two cores
set -o errexit -o nounset -o pipefail
fix=no format_only=no tidy_all=no tidy=()
for arg in "$@"; do
  case "$arg" in
    -h | --help) sed -n '2,9s/^# \{0,1\}//p' "$0"; exit 0 ;;
    --fix) fix=yes ;;
    --format) format_only=yes ;;
    --tidy) tidy_all=yes ;;
    -*) echo "lint: unknown argument '$arg'; see --help" >&2; exit 1 ;;
    *) tidy+=("$(realpath "$arg")") ;;
  esac
done
cd "$(dirname "$0")/.."
failed=no

# Files that git knows or would add; what tests read may be malformed on purpose.
sources() { git ls-files --cached --others --exclude-standard --deduplicate -- "$@" \
  ':!:*/Inputs/*' ':!:winners' ':!:docs/generated'; }
existing() { while read -r file; do [ -f "$file" ] && echo "$file"; done; }

mapfile -t cxx < <(sources '*.h' '*.cpp' | existing)
if [ "$fix" = yes ]; then
  clang-format-22 -i "${cxx[@]}"
elif ! clang-format-22 --dry-run -Werror "${cxx[@]}"; then
  echo "lint: format differs: run scripts/lint.sh --fix" >&2
  failed=yes
fi

scripts/check-layers.py || failed=yes
scripts/check-sizes.py || failed=yes

if [ "$format_only" = no ]; then
  mapfile -t text < <(sources '*.h' '*.cpp' '*.td' '*.py' '*.sh' '*.md' '*.cmake' '*.txt' | existing)
  if grep -nP '\t|[ ]+$' "${text[@]}" >&2; then
    echo "lint: tabs or trailing blanks in the lines above: use spaces" >&2
    failed=yes
  fi
  mapfile -t bannered < <(sources include lib tools unittests |
    grep -E '\.(h|cpp|td)$' | existing)
  if grep -L 'SPDX-License-Identifier' "${bannered[@]}" | grep . >&2; then
    echo "lint: no licence banner in the files above: copy it from a neighbour" >&2
    failed=yes
  fi
fi

if [ "$tidy_all" = yes ]; then
  mapfile -t tidy < <(sources 'lib/*.cpp' 'tools/*.cpp' 'unittests/*.cpp' | existing)
fi
if [ ${#tidy[@]} != 0 ]; then
  if [ ! -f build/dev/compile_commands.json ]; then
    echo "lint: clang-tidy needs build/dev: run scripts/build.sh dev" >&2
    exit 1
  fi
  arguments=(--quiet -p build/dev) jobs=$(nproc)
  # Two that mend one header at a time would mangle it.
  [ "$fix" = no ] || { arguments+=(--fix); jobs=1; }
  printf '%s\0' "${tidy[@]}" |
    xargs -0 -n 4 -P "$jobs" clang-tidy-22 "${arguments[@]}" || failed=yes
  # What it changed is not laid out yet.
  [ "$fix" = no ] || clang-format-22 -i "${cxx[@]}"
fi
[ "$failed" = no ]
