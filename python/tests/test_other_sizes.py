# ===- test_other_sizes.py - KernelBench's problems at other sizes -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""benchmarks/other_sizes.py on a module of ours."""

import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PROBLEM = """
import torch

batch_size = 64
in_channels = 96
out_channels = 128
kernel_size = 3
groups = 8
width = 16 * 32
input_shape = (4096, out_channels)
scale = 2.5

def get_inputs():
    return [torch.rand(batch_size, in_channels, width)]
"""


@pytest.fixture
def level(tmp_path):
    folder = tmp_path / "level1"
    folder.mkdir()
    (folder / "1_Some.py").write_text(PROBLEM)
    return folder


def run(*arguments):
    return subprocess.run(
        [sys.executable, ROOT / "benchmarks" / "other_sizes.py", *arguments],
        capture_output=True,
        text=True,
    )


def sizes_of(level, seed):
    done = run(level, level.parent / seed, f"--seed={seed}")
    assert done.returncode == 0, done.stderr
    names = {}
    text = (level.parent / seed / "1_Some.py").read_text()
    exec(text.replace("import torch", ""), names)
    return text, names


def test_sizes_are_others_and_fit_each_other(level):
    for seed in ("1", "2", "3", "4", "5"):
        text, sizes = sizes_of(level, seed)
        assert 1 <= sizes["batch_size"] < 64
        assert sizes["width"] != 512 and sizes["input_shape"][0] != 4096
        assert sizes["in_channels"] != 96 and sizes["in_channels"] % 8 == 0
        assert sizes["out_channels"] != 128 and sizes["out_channels"] % 8 == 0
        assert (sizes["kernel_size"], sizes["groups"], sizes["scale"]) == (3, 8, 2.5)
        assert sizes["input_shape"][1] == sizes["out_channels"]
        assert "torch.rand(batch_size, in_channels, width)" in text


def test_a_seed_gives_the_same_again_and_another_gives_others(level):
    assert sizes_of(level, "1")[0] == sizes_of(level, "1")[0] != sizes_of(level, "2")[0]


def test_a_folder_without_problems_is_said(tmp_path):
    done = run(tmp_path, tmp_path / "other")
    assert done.returncode == 2
    assert "has no problems: name a folder as KernelBench/KernelBench/level1" in done.stderr
    assert not (tmp_path / "other").exists()
