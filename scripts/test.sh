#!/usr/bin/env bash
# Installs, builds and runs every test of fastk: unit, lit and Python.
set -o errexit -o nounset -o pipefail
cd "$(dirname "$0")/.."
# CUDA's compile tools need no GPU: what is compiled for one is tested anywhere.
scripts/install-deps.sh --import --models --cuda --llm
scripts/build.sh dev
failed=()
scripts/lint.sh --format || failed+=("clang-format")
scripts/generate-docs.sh --check || failed+=("generated docs")
cmake --build build/dev --target check-fastk-unit || failed+=("unit tests")
cmake --build build/dev --target check-fastk-lit || failed+=("lit tests")
# Tests that take times on this machine run alone.
.venv/bin/python -m pytest -q -n auto --maxprocesses=4 --dist loadfile -m 'not measures' \
  python/tests || failed+=("Python tests")
.venv/bin/python -m pytest -q -m measures python/tests || failed+=("Python tests that measure")
if [ ${#failed[@]} != 0 ]; then
  printf 'test.sh: FAILED: %s\n' "${failed[*]}" >&2
  exit 1
fi
echo "test.sh: all tests passed"
