# ===- test_docs.py - docs/importer.md -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""The commands in docs/importer.md do what the page says."""

import re
import shlex
import shutil

import pytest
from conftest import GOLDEN, PYTHON, ROOT, python

DOC = (ROOT / "docs" / "importer.md").read_text()
COMMANDS = re.findall(r"^python (-m fastk\.importer.*|scripts/.*)$", DOC, re.MULTILINE)


def test_the_commands_are_found():
    assert len(COMMANDS) == 4


@pytest.mark.parametrize("command", COMMANDS)
def test_command_runs(command, tmp_path):
    example = re.search(r"```python\n(# models\.py\n.*?)```", DOC, re.DOTALL).group(1)
    (tmp_path / "models.py").write_text(example)
    (tmp_path / "python").symlink_to(PYTHON)
    # Copies of what a command may write to.
    shutil.copytree(ROOT / "scripts", tmp_path / "scripts")
    shutil.copytree(GOLDEN, tmp_path / "test" / "Inputs" / "golden")
    result = python(*shlex.split(command, comments=True), cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    if "mlp.mlir" in command:
        assert (
            "func.func @forward(%arg0: tensor<3072x768xf32>"
            in (tmp_path / "mlp.mlir").read_text()
        )
        assert (tmp_path / "mlp.mlir.json").exists()
    if "--outdir" in command:
        assert (tmp_path / "data" / "out0.npy").exists()
