#!/usr/bin/env bash
# Installs what fastk is built from, on Debian 12. Run as root or with sudo
# rights; safe to run again.
#
#   scripts/install-deps.sh            what the compiler needs
#   scripts/install-deps.sh --import   and the importer: Torch and torch-mlir, in .venv
#   scripts/install-deps.sh --models   and whole models for it: transformers
#   scripts/install-deps.sh --cuda     and CUDA's compile tools for a machine without CUDA, in .venv
#   scripts/install-deps.sh --llm      and what tests the client for language models, in .venv
#   scripts/install-deps.sh --remote   and servers for the tests of remote banks: nginx, and moto's S3 in .venv
#   scripts/install-deps.sh --triton   and Triton, for the tests of fastk.from_triton, in .venv
#   scripts/install-deps.sh --ray      and Ray, for the tests of clusters, in .venv
#   scripts/install-deps.sh --site     and Sphinx, which makes the site of docs/, in .venv
#   scripts/install-deps.sh --notebooks  and what runs docs/notebooks, in .venv
#   scripts/install-deps.sh --lint     and pre-commit with its tools
set -o errexit -o nounset -o pipefail

# fastk is written for this LLVM and no other: MLIR's API and textual IR change
# with every release.
readonly LLVM=22
readonly LLVM_EXACT=22.1

readonly PACKAGES=(
  "llvm-${LLVM}-dev" "libmlir-${LLVM}-dev" "mlir-${LLVM}-tools" "llvm-${LLVM}-tools"
  "llvm-${LLVM}-linker-tools" "clang-${LLVM}" "lld-${LLVM}" "libclang-rt-${LLVM}-dev"
  "libomp-${LLVM}-dev" "clang-format-${LLVM}" "clang-tidy-${LLVM}"
  cmake ninja-build ccache git ca-certificates xz-utils
  nlohmann-json3-dev libcurl4-openssl-dev libseccomp-dev googletest libgtest-dev libgmock-dev
  libedit-dev zlib1g-dev libzstd-dev libxml2-dev # wanted by LLVM's CMake files
  groff-base # the man pages are checked by it
  python3 python3-venv python3-dev # its headers: what torch.compile builds for the host
)

usage() { sed -n '2,15s/^# \{0,1\}//p' "$0"; }

import=no models=no cuda=no llm=no remote=no triton=no ray=no site=no notebooks=no lint=no
for arg in "$@"; do
  case "$arg" in
    --import) import=yes ;;
    --models) import=yes models=yes ;;
    --cuda) cuda=yes ;;
    --llm) llm=yes ;;
    --remote) remote=yes ;;
    --triton) triton=yes ;;
    --ray) ray=yes ;;
    --site) site=yes ;;
    --notebooks) import=yes notebooks=yes ;;
    --lint) lint=yes ;;
    -h | --help) usage; exit 0 ;;
    *) echo "install-deps: unknown argument '$arg'" >&2; usage >&2; exit 1 ;;
  esac
done
cd "$(dirname "$0")/.."

run_as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"
  elif command -v sudo >/dev/null; then sudo "$@"
  else
    echo "install-deps: needs root to install packages: run it as root, or install sudo" >&2
    exit 1
  fi
}

install_packages() {
  local missing=()
  for package in "$@"; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
  done
  [ ${#missing[@]} = 0 ] && return
  if ! command -v apt-get >/dev/null; then
    echo "install-deps: this script knows Debian 12 only; install these by hand: ${missing[*]}" >&2
    exit 1
  fi
  echo "install-deps: installing ${#missing[@]} packages"
  run_as_root apt-get update -q
  run_as_root env DEBIAN_FRONTEND=noninteractive \
    apt-get install -q -y --no-install-recommends "${missing[@]}" || {
    echo "install-deps: apt-get failed. LLVM ${LLVM_EXACT} comes from Debian 12's own archives;" \
      "check that bookworm, bookworm-updates and bookworm-security are enabled" >&2
    exit 1
  }
}

install_packages "${PACKAGES[@]}"
version=$("llvm-config-${LLVM}" --version)
case "$version" in
  "${LLVM_EXACT}".*) echo "install-deps: LLVM $version" ;;
  *)
    echo "install-deps: llvm-config-${LLVM} says $version but fastk needs ${LLVM_EXACT}.x" >&2
    exit 1
    ;;
esac

if [ "$import" = yes ] || [ "$cuda" = yes ] || [ "$llm" = yes ] || [ "$remote" = yes ] ||
  [ "$triton" = yes ] || [ "$ray" = yes ] || [ "$site" = yes ] || [ "$lint" = yes ]; then
  [ -x .venv/bin/python ] || python3 -m venv .venv
fi
if [ "$import" = yes ]; then
  # The wheels are large: do nothing when the wanted pair is there already.
  .venv/bin/python -c 'import torch, torch_mlir, numpy, pytest, xdist, mpmath, fastk' 2>/dev/null || {
    echo "install-deps: installing Torch and torch-mlir into .venv (a minute or two, more where pip has only the CUDA build)"
    .venv/bin/pip install -q -e 'python[import,test]'
  }
fi
if [ "$models" = yes ]; then
  .venv/bin/python -c 'import transformers' 2>/dev/null || {
    echo "install-deps: installing transformers into .venv"
    .venv/bin/pip install -q -e 'python[import,models,test]'
  }
fi
if [ "$cuda" = yes ]; then
  compgen -G '.venv/lib/python3*/site-packages/nvidia/cu13/bin/ptxas' >/dev/null || {
    echo "install-deps: installing CUDA 13.0's compile tools into .venv"
    .venv/bin/pip install -q -e 'python[cuda]'
  }
fi
if [ "$llm" = yes ]; then
  # The versions are pinned in python/pyproject.toml: pip does nothing when they
  # are there already.
  .venv/bin/python -c 'import openai, anthropic, google.genai, xllamacpp, gguf, pytest, xdist' 2>/dev/null || {
    echo "install-deps: installing the providers' libraries and a llama.cpp server into .venv"
    .venv/bin/pip install -q -e 'python[llm,test]'
  }
fi
if [ "$remote" = yes ]; then
  # The program alone, as the tests start it: the package would start a server.
  [ -x /usr/sbin/nginx ] || RUNLEVEL=1 install_packages nginx-light
  .venv/bin/python -c 'import moto.server, boto3, pytest, xdist' 2>/dev/null || {
    echo "install-deps: installing moto's S3 server into .venv"
    .venv/bin/pip install -q -e 'python[remote,test]'
  }
fi
if [ "$triton" = yes ]; then
  # The version that scripts/regenerate-triton.py records with; a wheel of 286 MB.
  .venv/bin/python -c 'import triton; assert triton.__version__ == "3.9.0"' 2>/dev/null || {
    echo "install-deps: installing Triton into .venv"
    .venv/bin/pip install -q -e 'python[triton,test]' triton==3.9.0
  }
fi
if [ "$ray" = yes ]; then
  .venv/bin/python -c 'import ray, pytest, xdist; assert ray.__version__ == "2.60.0"' 2>/dev/null || {
    echo "install-deps: installing Ray into .venv"
    .venv/bin/pip install -q -e 'python[ray,test]'
  }
fi
if [ "$site" = yes ]; then
  .venv/bin/python -c 'import sphinx, myst_parser, furo, pytest, xdist' 2>/dev/null || {
    echo "install-deps: installing Sphinx into .venv"
    .venv/bin/pip install -q -e 'python[site,test]'
  }
fi
if [ "$notebooks" = yes ]; then
  .venv/bin/python -c 'import nbclient, ipykernel' 2>/dev/null || {
    echo "install-deps: installing what runs notebooks into .venv"
    .venv/bin/pip install -q -e 'python[import,notebooks,test]'
  }
fi
if [ "$lint" = yes ]; then
  .venv/bin/pip install -q pre-commit==4.6.0
fi
