# ===- test_reference.py - python -m fastk.importer.reference -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Reference data: its order, types and values, and its errors."""

import json

import numpy
import pytest
import torch
from conftest import GOLDEN, GOLDEN_PY, python

from fastk.importer import golden

SMALL = [name for name in golden.NAMES if name.endswith("_small")]


def run(*arguments):
    return python("-m", "fastk.importer.reference", *arguments)


def load(folder, prefix):
    count = len(list(folder.glob(f"{prefix}*.npy")))
    return [numpy.load(folder / f"{prefix}{i}.npy") for i in range(count)]


def test_files_match_the_sidecar(tmp_path):
    result = run(f"{GOLDEN_PY}:resnet_block_small", "--outdir", tmp_path / "data")
    assert result.returncode == 0, result.stderr
    sidecar = json.loads((GOLDEN / "resnet_block_small.mlir.json").read_text())
    arrays = load(tmp_path / "data", "in")
    numpy_names = {"f32": "float32", "i64": "int64"}
    assert [(list(a.shape), str(a.dtype)) for a in arrays] == [
        (a["shape"], numpy_names[a["dtype"]]) for a in sidecar["arguments"]
    ]
    (out,) = load(tmp_path / "data", "out")
    assert out.dtype == numpy.float64
    assert list(out.shape) == sidecar["results"][0]["shape"]


def test_outputs_are_exact_for_the_rounded_inputs(tmp_path):
    result = run(f"{GOLDEN_PY}:matmul_f16_small", "--outdir", tmp_path)
    assert result.returncode == 0, result.stderr
    a, b = load(tmp_path, "in")
    assert a.dtype == b.dtype == numpy.float16
    (out,) = load(tmp_path, "out")
    assert numpy.allclose(out, a.astype("f8") @ b.astype("f8"), rtol=1e-13, atol=1e-13)


def test_own_types_on_request(tmp_path):
    run(f"{GOLDEN_PY}:matmul_f16_small", "--outdir", tmp_path, "--no-double")
    (out,) = load(tmp_path, "out")
    assert out.dtype == numpy.float16


def test_the_seed_decides(tmp_path):
    for folder, seed in (("a", 3), ("b", 3), ("c", 4)):
        run(f"{GOLDEN_PY}:mlp_small", "--outdir", tmp_path / folder, "--seed", seed)
    for name in ("in0.npy", "in4.npy", "out0.npy"):
        a, b, c = ((tmp_path / f / name).read_bytes() for f in "abc")
        assert a == b != c


@pytest.mark.parametrize("name", SMALL)
def test_no_part_of_a_model_is_neutral(name):
    """Every float argument changes the result: none is drawn as zero or one."""
    from fastk.importer import reference, source

    arrays, (out,) = reference.compute(lambda: source.call(getattr(golden, name)))
    # A single number has no spread: there it must not be zero.
    assert numpy.isfinite(out).all()
    assert (out.std() if out.size > 1 else abs(float(out))) > 1e-3
    for array in arrays:
        if array.dtype.kind == "f" and array.size > 1:
            assert array.astype("f8").std() > 0.01


def test_integers_keep_the_examples_values(tmp_path, model):
    spec = model(
        "def build():\n    return nn.Embedding(10, 4), (torch.tensor([3, 9, 3]),)\n"
    )
    assert run(spec, "--outdir", tmp_path).returncode == 0
    weight, ids = load(tmp_path, "in")
    assert ids.tolist() == [3, 9, 3]
    assert numpy.array_equal(load(tmp_path, "out")[0], weight.astype("f8")[[3, 9, 3]])


def test_a_module_that_updates_buffers_is_refused(tmp_path, model):
    spec = model("def build():\n    return nn.BatchNorm1d(3), (torch.randn(5, 3),)\n")
    result = run(spec, "--outdir", tmp_path / "data")
    assert result.returncode == 1
    assert "updates its own buffers (running_mean" in result.stderr
    assert "module.eval()" in result.stderr
    assert not (tmp_path / "data").exists()


def test_a_module_that_fails_is_named(tmp_path, model):
    spec = model("def build():\n    return nn.Linear(3, 4), (torch.randn(5, 2),)\n")
    result = run(spec, "--outdir", tmp_path / "data")
    assert result.returncode == 1
    assert "the module fails in float64: RuntimeError" in result.stderr


def test_bfloat16_is_refused(tmp_path, model):
    spec = model("def build():\n    return nn.ReLU(), (torch.randn(3).bfloat16(),)\n")
    result = run(spec, "--outdir", tmp_path / "data")
    assert result.returncode == 1
    assert "numpy has no type for torch.bfloat16" in result.stderr


def test_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").write_text("")
    result = run(f"{GOLDEN_PY}:mlp_small", "--outdir", tmp_path / "file" / "x")
    assert result.returncode == 1
    assert "cannot make the folder" in result.stderr


def test_options_are_checked():
    assert run(f"{GOLDEN_PY}:mlp_small").returncode == 1
    assert "--outdir" in run("--help").stdout


def test_torch_global_state_is_only_the_seed():
    from fastk.importer import reference, source

    build = golden.mlp_small
    first = reference.compute(lambda: source.call(build), seed=5)
    torch.randn(7)
    second = reference.compute(lambda: source.call(build), seed=5)
    for a, b in zip(first[0] + first[1], second[0] + second[1]):
        assert numpy.array_equal(a, b)
