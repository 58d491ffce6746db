# ===- test_golden.py - The golden inputs -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""The golden inputs are up to date, complete, and nothing but structure."""

import json
import re

import pytest
from conftest import GOLDEN, ROOT, python

from fastk.importer import golden

SCRIPT = ROOT / "scripts/regenerate-golden.py"

#: The operators and models that the project promises, at both sizes.
PROMISED = [
    "matmul_f32",
    "conv2d",
    "conv2d_relu_maxpool",
    "softmax",
    "layernorm",
    "matmul_f16",
    "attention_f16",
    "attention_causal_f16",
    "mlp",
    "resnet_block",
    "transformer_block",
]


def test_regenerating_changes_no_byte():
    result = python(SCRIPT, "--check")
    assert result.returncode == 0, result.stderr


def test_drift_is_found_and_mended(tmp_path):
    names = [p.name for p in GOLDEN.iterdir()]
    for name in names:
        (tmp_path / name).write_bytes((GOLDEN / name).read_bytes())
    (tmp_path / "softmax.mlir").write_text("edited\n")
    (tmp_path / "mlp.mlir.json").unlink()
    (tmp_path / "stranger.mlir").write_text("")
    some = ["softmax", "mlp", "layernorm"]
    check = python(SCRIPT, "--check", "--folder", tmp_path, *some)
    assert check.returncode == 1
    assert f"{tmp_path}/softmax.mlir: out of date" in check.stderr
    assert f"{tmp_path}/mlp.mlir.json: out of date" in check.stderr
    assert "stranger.mlir: no model in golden.py" in check.stderr
    assert check.stderr.count("out of date") == 2
    (tmp_path / "stranger.mlir").unlink()
    assert python(SCRIPT, "--folder", tmp_path, *some).returncode == 0
    for name in names:
        assert (tmp_path / name).read_bytes() == (GOLDEN / name).read_bytes()


def test_every_promised_input_is_there_at_both_sizes():
    for name in PROMISED:
        assert name in golden.NAMES and f"{name}_small" in golden.NAMES


#: Those that read at positions which are data: their bounds checks stay.
CHECKED = ["embedding_small", "cross_entropy_small"]


@pytest.mark.parametrize("name", golden.NAMES)
def test_golden_input(name, parses):
    text = (GOLDEN / f"{name}.mlir").read_text()
    parses(text)
    assert "loc(" not in text, "locations"
    assert "dense_resource" not in text and 'dense<"' not in text, "constants"
    assert "?" not in text, "dynamic shapes"
    assert ("cf.assert" in text) == (name in CHECKED)
    dialects = set(re.findall(r"^ +(?:%.*= )?\"?(\w+)\.\w+", text, re.MULTILINE))
    allowed = {"func", "linalg", "tensor", "arith", "math"}
    assert dialects <= (allowed | {"cf"} if name in CHECKED else allowed)
    sidecar = json.loads((GOLDEN / f"{name}.mlir.json").read_text())
    signature = re.search(r"@forward\((.*)\) -> (.*) \{", text)
    types = [
        "x".join([*map(str, a["shape"]), a["dtype"]]) for a in sidecar["arguments"]
    ]
    assert re.findall(r"tensor<([^>]*)>", signature.group(1)) == types
    types = ["x".join([*map(str, r["shape"]), r["dtype"]]) for r in sidecar["results"]]
    assert re.findall(r"tensor<([^>]*)>", signature.group(2)) == types
