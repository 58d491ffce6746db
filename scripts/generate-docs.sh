#!/usr/bin/env bash
# Writes docs/generated from the TableGen files of the dialect and the passes.
#
#   scripts/generate-docs.sh           writes
#   scripts/generate-docs.sh --check   writes nothing; fails when they are stale
set -o errexit -o nounset -o pipefail
check=no
case "${1:-}" in
  "") ;;
  --check) check=yes ;;
  -h | --help) sed -n '2,5s/^# \{0,1\}//p' "$0"; exit 0 ;;
  *) echo "generate-docs: unknown argument '$1'; see --help" >&2; exit 1 ;;
esac
cd "$(dirname "$0")/.."

scripts/build.sh dev mlir-doc >/dev/null || {
  echo "generate-docs: 'scripts/build.sh dev mlir-doc' failed; run it to see why" >&2
  exit 1
}
stale=()
for made in build/dev/docs/*.md; do
  kept=docs/generated/${made##*/}
  cmp -s "$made" "$kept" && continue
  if [ "$check" = yes ]; then
    stale+=("$kept")
    diff -u "$kept" "$made" | head -20 >&2 || true
  else
    mkdir -p docs/generated
    cp "$made" "$kept"
    echo "generate-docs: wrote $kept"
  fi
done
if [ ${#stale[@]} != 0 ]; then
  echo "generate-docs: stale: ${stale[*]}. Run scripts/generate-docs.sh and commit the result" >&2
  exit 1
fi
