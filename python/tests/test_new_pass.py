# ===- test_new_pass.py - The skeleton of a pass -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""What scripts/new-pass.py writes is whole, formatted, and known to TableGen and CMake."""

import shutil
import subprocess
import sys

import pytest
from conftest import ROOT, tool

SCRIPT = ROOT / "scripts" / "new-pass.py"


@pytest.fixture
def checkout(tmp_path):
    for name in ("include/fastk/Transforms", "lib/Transforms"):
        shutil.copytree(ROOT / name, tmp_path / name)
    (tmp_path / "test" / "Transforms").mkdir(parents=True)
    shutil.copy(ROOT / ".clang-format", tmp_path)
    return tmp_path


def new_pass(checkout, *words):
    return subprocess.run(
        [sys.executable, SCRIPT, *words, "--root", checkout],
        text=True,
        capture_output=True,
        check=False,
    )


def test_a_new_pass(checkout):
    made = new_pass(checkout, "fastk-fold-pads", "Fold pads into the ops that read them")
    assert made.returncode == 0, made.stderr
    assert "now: scripts/test.sh test/Transforms/fastk_fold_pads.mlir" in made.stderr
    assert all((checkout / name).is_file() for name in made.stdout.split())
    passes = subprocess.run(
        [
            tool("mlir-tblgen"),
            "-gen-pass-decls",
            "-name=Fastk",
            f"-I{checkout}/include",
            "-I/usr/lib/llvm-22/include",
            checkout / "include" / "fastk" / "Transforms" / "Passes.td",
        ],
        text=True,
        capture_output=True,
        check=False,
    )
    assert "fastk-fold-pads" in passes.stdout, passes.stderr
    source = checkout / "lib" / "Transforms" / "FoldPads.cpp"
    subprocess.run(["clang-format-22", "--dry-run", "-Werror", source], check=True)
    cmake = (checkout / "lib" / "Transforms" / "CMakeLists.txt").read_text()
    assert cmake.index("FoldPads.cpp") < cmake.index("LINK")
    again = new_pass(checkout, "fastk-fold-pads", "Fold pads")
    assert again.returncode == 2 and "is there already" in again.stderr


def test_banners_are_of_80_columns(checkout):
    # With the whole summary that of the .td file would be longer.
    summary = "Count the workloads of each function"
    made = new_pass(checkout, "fastk-count-workloads", summary)
    assert made.returncode == 0, made.stderr
    for folder in ("include/fastk/Transforms", "lib/Transforms"):
        (source,) = (checkout / folder).glob("CountWorkloads.*")
        banner = source.read_text().splitlines()[0]
        assert len(banner) == 80 and " - Count the workloads " in banner


@pytest.mark.parametrize(
    "words, said",
    [
        (["fold-pads", "Fold pads"], "is not fastk-NAME"),
        (["fastk-Fold", "Fold pads"], "is not fastk-NAME"),
        (["fastk-fold-pads", "Fold pads."], "no full stop"),
    ],
)
def test_wrong_words(checkout, words, said):
    made = new_pass(checkout, *words)
    assert made.returncode == 2 and said in made.stderr
