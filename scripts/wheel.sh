#!/usr/bin/env bash
# Builds fastk's wheel: dist/fastk-VERSION-py3-none-manylinux_2_34_x86_64.whl.
#
#   scripts/wheel.sh [dev|release] [FOLDER]
#
# Default: release, dist. It has the Python package and, in it, the programs of a
# build, which need glibc 2.34 and nothing else; docs/install.md says what is in it.
# With dev what that preset has compiled is linked once more: for tests.
set -o errexit -o nounset -o pipefail
case "${1:-}" in -h | --help) sed -n '2,9s/^# \{0,1\}//p' "$0"; exit 0 ;; esac
preset=release
case "${1:-}" in dev | release) preset=$1; shift ;; esac
dist=$(realpath "${1:-$(dirname "$0")/../dist}")
cd "$(dirname "$0")/.."

# What makes and checks the wheel. pip is Python's own.
readonly SETUPTOOLS=84.2.1 AUDITWHEEL=6.8.2
# Whose code is in the programs; their licences are in the wheel.
readonly INSIDE=(llvm-22-dev libstdc++-12-dev zlib1g-dev libzstd-dev libseccomp-dev nlohmann-json3-dev)

# Each step is announced with the time that has gone by.
step() { printf '\n== %d:%02d  %s\n' $((SECONDS / 60)) $((SECONDS % 60)) "$*"; }

build=build/$preset
stage=$build/wheel/stage
native=$stage/fastk/native
venv=build/wheel-venv

step "1. Build what it has of $build"
scripts/build.sh "$preset" fastk-wheel

step "2. Put the package together in $stage"
rm -rf "$stage"
mkdir -p "$stage/commands"
cp python/pyproject.toml python/setup.py LICENSE "$stage"
(cd python && find fastk -type f -not -name '*.pyc' -print0 | xargs -0 cp --parents -t "../$stage")
cmake --install "$build" --component wheel --prefix "$native" >/dev/null
# Where man looks for them: beside the commands' folder.
mv "$native/share/man" "$stage/man"
strip --strip-unneeded "$native"/lib/*.so
for name in fastk-bank fastk-lsp-server fastk-opt fastk-run fastk-worker; do
  printf '#!python\nfrom fastk.programs import launch\n\nlaunch()\n' >"$stage/commands/$name"
done
for package in "${INSIDE[@]}"; do
  printf '\n==== %s\n\n' "$package"
  cat "/usr/share/doc/$package/copyright"
done >"$stage/NOTICE"

step "3. Make the wheel"
[ -x "$venv/bin/python" ] || python3 -m venv "$venv"
"$venv/bin/pip" install -q --disable-pip-version-check \
  "setuptools==$SETUPTOOLS" "auditwheel==$AUDITWHEEL"
# Equal files give an equal wheel.
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct 2>/dev/null || echo 0)
export SOURCE_DATE_EPOCH
rm -f "$dist"/fastk-*.whl
"$venv/bin/pip" wheel -q --disable-pip-version-check --no-deps --no-build-isolation \
  --no-cache-dir --wheel-dir "$dist" "$stage"
wheel=$(ls "$dist"/fastk-*.whl)

step "4. Check what it needs"
said=$("$venv/bin/auditwheel" show "$wheel")
echo "$said"
case $(tr '\n' ' ' <<<"$said") in
  *'platform tag: "manylinux_2_'*) ;;
  *) echo "wheel.sh: auditwheel does not take it for any Linux" >&2; exit 1 ;;
esac
"$venv/bin/python" scripts/check-wheel.py "$wheel"

step "Done: $wheel"
