# ===- test_wheel.py - The wheel, where there is nothing else -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""scripts/wheel.sh makes a wheel that works where neither LLVM nor the checkout is.

It is installed in a new virtual environment, whose programs run with an empty PATH and,
where this user may, in a mount namespace: there the checkout is an empty folder, LLVM
too, and the libraries that the wheel is not to need are empty files.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import zipfile

import pytest
from conftest import ROOT

#: Runs a command where what is listed is hidden, and a folder stands in another place.
HIDE = """
set -e
[ -z "$FROM" ] || /bin/mount --bind "$FROM" "$TO"
for path in $HIDDEN; do
  if [ -d "$path" ]; then /bin/mount -t tmpfs none "$path"; else /bin/mount --bind /dev/null "$path"; fi
done
exec /usr/bin/env -i "HOME=$HOME" "TMPDIR=$TMPDIR" "PATH=$PATH" "$@"
"""

#: What may not be needed, in the folders of the system's libraries.
LIBRARIES = ["libLLVM", "libMLIR", "libstdc++", "libseccomp", "libzstd", "libcurl"]
LIBRARIES += ["libomp", "libnvrtc"]

#: A model for which there is a shipped winner.
MATMUL = """
func.func @forward(%a: tensor<4096x4096xf32>, %b: tensor<4096x4096xf32>)
    -> tensor<4096x4096xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<4096x4096xf32>
  %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<4096x4096xf32>)
    -> tensor<4096x4096xf32>
  %c = linalg.matmul ins(%a, %b : tensor<4096x4096xf32>, tensor<4096x4096xf32>)
    outs(%start : tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
  return %c : tensor<4096x4096xf32>
}
"""


def unshare():
    """The command that makes a mount namespace; nothing where it may not."""
    own = [] if os.getuid() == 0 else ["--map-root-user"]
    command = [shutil.which("unshare") or "unshare", *own, "--mount"]
    try:
        subprocess.run([*command, "mount", "-t", "tmpfs", "none", "/mnt"], check=True)
    except (OSError, subprocess.CalledProcessError):
        return []
    return command


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """(the wheel, what scripts/wheel.sh said)."""
    folder = tmp_path_factory.mktemp("dist")
    made = subprocess.run(
        [ROOT / "scripts" / "wheel.sh", "dev", folder],
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    assert made.returncode == 0, made.stdout
    (wheel,) = folder.iterdir()
    return wheel, made.stdout


class Bare:
    """A virtual environment with the wheel, and nothing else."""

    def __init__(self, wheel, folder):
        self.folder, self.namespace = folder, unshare()
        self.venv = folder / "venv"
        # Not the one that runs this, which may be one of the checkout's.
        python = pathlib.Path(sys.base_prefix, "bin", "python3")
        subprocess.run([python, "-m", "venv", self.venv], check=True)
        pip = [self.venv / "bin/pip", "install", "-q", "--no-index", "--no-compile"]
        subprocess.run([*pip, wheel], check=True)
        (self.site,) = self.venv.glob("lib/python3*/site-packages")
        hidden = [ROOT, pathlib.Path("/usr/lib/llvm-22")]
        hidden += pathlib.Path("/usr/local").glob("cuda*")
        for name in LIBRARIES:
            hidden += pathlib.Path("/usr/lib/x86_64-linux-gnu").glob(f"{name}*.so*")
        self.hidden = {path.resolve() for path in hidden if path.exists()}
        (folder / "empty").mkdir()

    def run(self, name, *arguments, status=0, cuda=False):
        """What a program of the environment says: stdout and stderr."""
        command = [self.venv / "bin" / name, *arguments]
        packages = self.site / "nvidia"
        found = (
            list(ROOT.glob(".venv/lib/python3*/site-packages/nvidia")) if cuda else []
        )
        if cuda and not found:
            pytest.skip("needs CUDA's compile tools: scripts/install-deps.sh --cuda")
        environment = {
            "HOME": str(self.folder),
            "TMPDIR": str(self.folder),
            "PATH": str(self.folder / "empty"),
        }
        if self.namespace:
            packages.mkdir(exist_ok=True)
            environment["FROM"] = str(found[0]) if cuda else ""
            environment["TO"] = str(packages)
            # NVRTC needs the C++ library, if nothing of fastk's does.
            hidden = [p for p in self.hidden if not (cuda and "libstdc++" in p.name)]
            environment["HIDDEN"] = " ".join(map(str, hidden))
            command = [*self.namespace, "/bin/sh", "-c", HIDE, "sh", *command]
        elif cuda:
            packages.symlink_to(found[0])
        try:
            result = subprocess.run(
                command,
                text=True,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                cwd=self.folder,
                env=environment,
            )
        finally:
            if packages.is_symlink():
                packages.unlink()
        assert result.returncode == status, result.stdout
        return result.stdout

    def file(self, name, text):
        path = self.folder / name
        path.write_text(text)
        return path


@pytest.fixture(scope="module")
def bare(built, tmp_path_factory):
    return Bare(built[0], tmp_path_factory.mktemp("bare"))


def test_it_is_what_its_name_says(built):
    wheel, said = built
    assert wheel.name == "fastk-0.1.0-py3-none-manylinux_2_34_x86_64.whl"
    assert re.search(r'following platform tag:\s+"manylinux_2_\d+_x86_64"', said)
    assert re.search(r"fastk-opt .*; glibc 2\.\d+; libfastk_runtime\.so, ", said)
    with zipfile.ZipFile(wheel) as file:
        names = set(file.namelist())
        notice = next(name for name in names if name.endswith("/NOTICE"))
        assert "==== libseccomp-dev" in file.read(notice).decode()
    for name in (
        "lib/libfastk_runtime.so",
        "lib/libfastk_torch.so",
        "include/fastk/Runtime/fastk_runtime.h",
        "share/fastk/winners/README.md",
        "share/fastk/families/host/contraction-panels/kernel.c",
    ):
        assert f"fastk/native/{name}" in names
    data = "fastk-0.1.0.data/data/share/man/man1"
    for name in ("fastk-opt", "fastk-run", "fastk-bank", "fastk-worker", "fastk-lsp-server"):
        assert f"{data}/{name}.1" in names


def test_another_wheel_is_refused(tmp_path):
    """One with a program of the dev build, which needs much."""
    wheel = tmp_path / "fastk-0.1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as file:
        file.write(ROOT / "build/dev/bin/fastk-worker", "fastk/native/bin/fastk-worker")
    result = subprocess.run(
        [ROOT / "build/wheel-venv/bin/python", ROOT / "scripts/check-wheel.py", wheel],
        text=True,
        capture_output=True,
    )
    assert result.returncode == 1
    assert "not named py3-none-manylinux_2_34_x86_64" in result.stderr
    assert "needs libstdc++.so.6, which a machine may not have" in result.stderr
    assert re.search(
        r"fastk-worker needs GLIBCXX_3[.\d]*, and should have", result.stderr
    )


def test_its_commands_know_their_names(bare):
    assert "fastk version 0.1.0" in bare.run("fastk-opt", "--version")
    assert "run it, check and time" in bare.run("fastk-run", "--help")
    assert "fastk-bank: the winners" in bare.run("fastk-bank", "--help")
    assert "for editors" in bare.run("fastk-lsp-server", "--help")
    assert "fastk-worker (job format" in bare.run("fastk-worker", "--version")


def test_winners_and_families_are_found(bare):
    listed = bare.run("fastk-bank", "list")
    assert "71264ad5" in listed and "fbd777e7" in listed
    assert "contraction-wgmma" in bare.run("fastk-bank", "families")


def test_a_shipped_winner_is_applied(bare):
    model = bare.file("matmul.mlir", MATMUL)
    options = ["--target=cuda:sm_90a", "--emit=plan", "-o", "matmul.plan"]
    said = bare.run("fastk-opt", model, *options, cuda=True)
    assert said == "fastk-opt: 1 workload: 1 hit, 0 misses, 0 stale\n"
    described = bare.run("fastk-run", "matmul.plan", "--describe")
    assert "launch w_fbd777e7c26271c3::multiply, grid 132x1x1" in described
    assert re.search(r"code w_fbd777e7c26271c3: \d+ bytes of machine code", described)


def test_without_cuda_it_says_what_brings_it(bare):
    model = bare.file("matmul.mlir", MATMUL)
    said = bare.run(
        "fastk-opt", model, "--target=cuda:sm_90a", "--emit=plan", "-o", "m.plan"
    )
    assert "winner w_fbd777e7c26271c3 does not compile here" in said
    assert "libnvrtc was not found" in said and "pip install 'fastk[cuda]'" in said


def test_the_host_without_a_compiler(bare):
    model = bare.file("relu.mlir", (ROOT / "test/Driver/Inputs/relu.mlir").read_text())
    bare.run("fastk-opt", model, "--emit=obj", "-o", "relu.o")
    assert (bare.folder / "relu.o").stat().st_size
    said = bare.run("fastk-opt", model, "--emit=so", "-o", "relu.so", status=1)
    assert "neither clang-22 nor cc is in PATH" in said
    # A winner in C is one that the default lowering stands in for.
    shutil.copytree(ROOT / "test/Bank/Inputs/v1", bare.folder / "in-c")
    options = ["--bank=in-c", "--winners-from=any", "--emit=obj", "-o", "relu.o"]
    said = bare.run("fastk-opt", model, *options)
    assert "winner w_0e03df74c38e5906 does not compile here: clang-22 is not in" in said


def test_python_uses_what_the_package_has(bare):
    program = """if True:
        from fastk import library, programs
        print(programs.fastk_opt())
        print(library.installed("libfastk_runtime.so"), flush=True)
        library.Library("missing.plan")
    """
    said = bare.run("python", "-c", program, status=1).splitlines()
    native = bare.site / "fastk" / "native"
    assert said[0] == str(native / "bin" / "fastk-opt")
    assert said[1] == str(native / "lib" / "libfastk_runtime.so")
    # The runtime was loaded, and says it.
    assert "missing.plan" in said[-1] and "cannot be loaded" not in said[-1]
    said = bare.run(
        "python", "-m", "fastk.importer", "m.py:f", "-o", "m.mlir", status=1
    )
    assert "torch is not installed" in said
