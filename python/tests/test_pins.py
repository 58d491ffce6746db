# ===- test_pins.py - The pinned pair -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""The pair of wheels is named once, repeated exactly, and checked."""

import tomllib
from conftest import PYTHON, python

from fastk.importer import pins


def test_pyproject_pins_the_same_pair():
    project = tomllib.loads((PYTHON / "pyproject.toml").read_text())["project"]
    wanted = project["optional-dependencies"]["import"]
    assert f"torch=={pins.TORCH}" in wanted
    assert f"torch-mlir=={pins.TORCH_MLIR}" in wanted


def test_the_installed_pair_is_the_pinned_one():
    pins.check()


def test_without_torch_the_pip_command_is_named(tmp_path):
    # -S: no site-packages, so no torch.
    result = python("-m", "fastk.importer", "m.py:f", flags=["-S"])
    assert result.returncode == 1
    assert "torch is not installed, torch-mlir is not installed" in result.stderr
    assert f"remedy: {pins.PIP}" in result.stderr


def test_another_pair_is_refused_by_name(tmp_path):
    for name, version in (("torch", "2.12.1+cpu"), ("torch_mlir", "20260101")):
        info = tmp_path / f"{name}-{version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Name: {name}\nVersion: {version}\n")
    result = python("-m", "fastk.importer", "m.py:f", path=[tmp_path])
    assert result.returncode == 1
    assert "torch is 2.12.1, torch-mlir is 20260101" in result.stderr
    assert f"remedy: {pins.PIP}" in result.stderr


def test_help_needs_no_torch():
    result = python("-m", "fastk.importer", "--help", flags=["-S"])
    assert result.returncode == 0
    assert "def mlp():" in result.stdout and pins.PIP in result.stdout
    assert "Exit codes" in result.stdout
