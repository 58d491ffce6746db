#!/usr/bin/env bash
# Builds a preset (dev by default): scripts/build.sh [dev|asan|fuzz|release] [ninja arguments]
set -o errexit -o nounset -o pipefail
cd "$(dirname "$0")/.."
preset=dev
case "${1:-}" in
  -h | --help) sed -n '2s/^# //p' "$0"; exit 0 ;;
  dev | asan | fuzz | release) preset=$1; shift ;;
esac
[ -f "build/$preset/build.ninja" ] || cmake --preset "$preset"
cmake --build "build/$preset" -- "$@"
