# ===- test_scaffolds.py - Plain programs are right -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""The program that fastk-opt --scaffold writes is right, as C and as CUDA-C.

The judge accepts the C of every workload; the CUDA-C runs on the host, thread after
thread (cuda_on_host.py), and is compared with the default lowering.
"""

import json
import re

import numpy
import pytest
from compiled import fastk, run_model
from conftest import ROOT
from cuda_on_host import DTYPES, run_plan

GOLDEN = ROOT / "test" / "Inputs" / "golden"

MODELS = [
    "attention_causal_f16_small",
    "conv2d_relu_maxpool_small",
    "cross_entropy_small",
    "layernorm_small",
    "matmul_f16_small",
    "matmul_transposed_bias_silu_small",
    "rotary_embedding_small",
    "softmax_small",
    "standard_deviation_small",
    "total_small",
    "transposed_conv_small",
    "where_small",
]

#: What the golden models lack: f64, bf16, i32 and i8 with their own functions, several
#: results of one op, a result twice, an operand as a result, scalars, a scan, joined
#: and inserted tensors, an element looked up.
OWN = {
    "argmax": """
func.func @argmax(%x: tensor<9x31xf32>) -> (tensor<9xf32>, tensor<9xi64>) {
  %low = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0 : i64
  %v = tensor.empty() : tensor<9xf32>
  %n = tensor.empty() : tensor<9xi64>
  %v0 = linalg.fill ins(%low : f32) outs(%v : tensor<9xf32>) -> tensor<9xf32>
  %n0 = linalg.fill ins(%zero : i64) outs(%n : tensor<9xi64>) -> tensor<9xi64>
  %r:2 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>,
      affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i)>],
      iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<9x31xf32>) outs(%v0, %n0 : tensor<9xf32>, tensor<9xi64>) {
  ^bb0(%in: f32, %best: f32, %at: i64):
    %j = linalg.index 1 : index
    %here = arith.index_cast %j : index to i64
    %more = arith.cmpf ogt, %in, %best : f32
    %value = arith.select %more, %in, %best : f32
    %place = arith.select %more, %here, %at : i64
    linalg.yield %value, %place : f32, i64
  } -> (tensor<9xf32>, tensor<9xi64>)
  return %r#0, %r#1 : tensor<9xf32>, tensor<9xi64>
}""",
    "integers": """
func.func @integers(%a: tensor<7x33xi32>, %b: tensor<33x5xi32>, %c: tensor<7x5xi8>)
    -> (tensor<7x5xi32>, tensor<7x5xi8>) {
  %zero = arith.constant 0 : i32
  %e = tensor.empty() : tensor<7x5xi32>
  %e8 = tensor.empty() : tensor<7x5xi8>
  %f = linalg.fill ins(%zero : i32) outs(%e : tensor<7x5xi32>) -> tensor<7x5xi32>
  %p = linalg.matmul ins(%a, %b : tensor<7x33xi32>, tensor<33x5xi32>)
      outs(%f : tensor<7x5xi32>) -> tensor<7x5xi32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>,
      affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%p, %c : tensor<7x5xi32>, tensor<7x5xi8>) outs(%e8 : tensor<7x5xi8>) {
  ^bb0(%x: i32, %y: i8, %out: i8):
    %five = arith.constant 5 : i32
    %q = arith.floordivsi %x, %five : i32
    %s = arith.shrsi %q, %five : i32
    %t = arith.trunci %s : i32 to i8
    %u = arith.addi %t, %y : i8
    %v = arith.maxui %u, %y : i8
    %w = math.ctpop %v : i8
    linalg.yield %w : i8
  } -> tensor<7x5xi8>
  return %p, %r : tensor<7x5xi32>, tensor<7x5xi8>
}""",
    "doubles": """
func.func @doubles(%x: tensor<6x11xf64>) -> (tensor<6x11xf64>, tensor<f64>) {
  %zero = arith.constant 0.0 : f64
  %e = tensor.empty() : tensor<6x11xf64>
  %s = tensor.empty() : tensor<f64>
  %s0 = linalg.fill ins(%zero : f64) outs(%s : tensor<f64>) -> tensor<f64>
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>,
      affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<6x11xf64>) outs(%e : tensor<6x11xf64>) {
  ^bb0(%in: f64, %out: f64):
    %third = arith.constant 0.3 : f64
    %a = math.tanh %in : f64
    %b = arith.mulf %a, %third : f64
    linalg.yield %b : f64
  } -> tensor<6x11xf64>
  %t = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>,
      affine_map<(i, j) -> ()>], iterator_types = ["reduction", "reduction"]}
      ins(%y : tensor<6x11xf64>) outs(%s0 : tensor<f64>) {
  ^bb0(%in: f64, %sum: f64):
    %a = arith.addf %sum, %in : f64
    linalg.yield %a : f64
  } -> tensor<f64>
  return %y, %t : tensor<6x11xf64>, tensor<f64>
}""",
    "bf16": """
func.func @bf16(%x: tensor<8x24xf32>, %w: tensor<8x24xf32>)
    -> (tensor<8x24xf32>, tensor<8xf32>) {
  %zero = arith.constant 0.0 : f32
  %b = tensor.empty() : tensor<8x24xbf16>
  %e = tensor.empty() : tensor<8x24xf32>
  %s = tensor.empty() : tensor<8xf32>
  %s0 = linalg.fill ins(%zero : f32) outs(%s : tensor<8xf32>) -> tensor<8xf32>
  %h = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>,
      affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<8x24xf32>) outs(%b : tensor<8x24xbf16>) {
  ^bb0(%in: f32, %out: bf16):
    %a = math.exp %in : f32
    %c = arith.truncf %a : f32 to bf16
    linalg.yield %c : bf16
  } -> tensor<8x24xbf16>
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>,
      affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%h, %w : tensor<8x24xbf16>, tensor<8x24xf32>) outs(%e : tensor<8x24xf32>) {
  ^bb0(%in: bf16, %scale: f32, %out: f32):
    %a = arith.extf %in : bf16 to f32
    %c = arith.mulf %a, %scale : f32
    linalg.yield %c : f32
  } -> tensor<8x24xf32>
  %t = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>,
      affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%h : tensor<8x24xbf16>) outs(%s0 : tensor<8xf32>) {
  ^bb0(%in: bf16, %sum: f32):
    %a = arith.extf %in : bf16 to f32
    %c = arith.addf %sum, %a : f32
    linalg.yield %c : f32
  } -> tensor<8xf32>
  return %y, %t : tensor<8x24xf32>, tensor<8xf32>
}""",
    "joined": """
func.func @joined(%a: tensor<4x6xf32>, %b: tensor<3x6xf32>, %c: tensor<2x3xf32>)
    -> (tensor<7x6xf32>, tensor<7x6xf32>) {
  %j = tensor.concat dim(0) %a, %b : (tensor<4x6xf32>, tensor<3x6xf32>) -> tensor<7x6xf32>
  %e = tensor.empty() : tensor<7x6xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>,
      affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%j : tensor<7x6xf32>) outs(%e : tensor<7x6xf32>) {
  ^bb0(%in: f32, %out: f32):
    %x = math.absf %in : f32
    %y = math.sqrt %x : f32
    linalg.yield %y : f32
  } -> tensor<7x6xf32>
  %i = tensor.insert_slice %c into %r[1, 1] [2, 3] [3, 2] : tensor<2x3xf32> into tensor<7x6xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>,
      affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%i, %j : tensor<7x6xf32>, tensor<7x6xf32>) outs(%e : tensor<7x6xf32>) {
  ^bb0(%in: f32, %other: f32, %out: f32):
    %x = arith.subf %in, %other : f32
    linalg.yield %x : f32
  } -> tensor<7x6xf32>
  return %s, %r : tensor<7x6xf32>, tensor<7x6xf32>
}""",
}

#: Random workloads of each core that families know: what they lack is tried, too.
CORES = "pointwise reduction contraction convolution attention scan window".split()


def workloads_of(model, folder, *options):
    """The keys of a model's workloads, without what only fills memory."""
    listed = folder / "workloads.json"
    fastk("fastk-opt", model, *options, f"--list-workloads={listed}",
          "-o", folder / "applied.mlir")  # fmt: skip
    found = json.loads(listed.read_text())["workloads"]
    keys = {each["key"]: each["name"] for each in found if each["key"]}
    return [key for key, name in keys.items() if name != "fill"]


def judge(scaffold, folder):
    """What the worker says of the plain program, which it need not time."""
    spool = folder / "jobs"
    fastk("fastk-opt", scaffold / "workload.mlir", "--search=all",
          f"--proposer=files:{scaffold}", f"--bank={folder / 'bank'}",
          f"--evaluator=spool:{spool}", "-o", folder / "never.mlir", status=75)  # fmt: skip
    [job] = spool.glob("job-*")
    description = json.loads((job / "job.json").read_text())
    description["mode"] = "validate"
    verdict = fastk("fastk-worker", input=json.dumps(description), cwd=job).stdout
    return json.loads(verdict)


def shapes_of(model):
    """Operands and results of the one function, in order."""
    head = re.search(r"func\.func @\w+\((.*?)\) -> (.*?) \{", model.read_text())
    found = []
    for types in head.groups():
        tensors = re.findall(r"tensor<([\dx]*)(\w+)>", types)
        found.append(
            [([int(n) for n in shape.split("x")[:-1]], kind) for shape, kind in tensors]
        )
    return found


def draw(shape, kind, random, bound):
    if kind.startswith("f"):
        return random.standard_normal(shape).astype(DTYPES[kind])
    return random.integers(0, bound, shape).astype(DTYPES[kind])


def bounds_of(scaffold):
    """For operands that are indices: what they stay below."""
    text = (scaffold / "workload.md").read_text()
    return {
        int(number): int(bound)
        for number, bound in re.findall(r"- in(\d+): .*indices below (\d+)", text)
    }


def check_on_host(model, key, folder, *options):
    """The judge accepts the plain C. False: no inputs tell right from wrong."""
    scaffold = folder / "host"
    fastk("fastk-opt", model, *options, f"--scaffold={key}", "-o", scaffold)
    verdict = judge(scaffold, folder)
    if verdict["status"] == "unfit":
        return False
    assert verdict["status"] == "ok", verdict.get("reason")
    assert verdict["precision"] == "ieee"
    return True


def check_cuda(model, key, folder, *options):
    """The plain CUDA-C computes what the default lowering does."""
    scaffold = folder / "cuda"
    fastk("fastk-opt", model, *options, "--target=cuda:sm_90a", f"--scaffold={key}",
          "-o", scaffold)  # fmt: skip
    inputs, outputs = shapes_of(scaffold / "workload.mlir")
    random = numpy.random.default_rng(int(key[:8], 16))
    bounds = bounds_of(scaffold)
    arrays = [
        draw(shape, kind, random, bounds.get(number, 2))
        for number, (shape, kind) in enumerate(inputs)
    ]
    expected = run_model(scaffold / "workload.mlir", arrays, folder)
    plan = json.loads((scaffold / "plain" / "plan.json").read_text())
    made = run_plan((scaffold / "plain" / "kernel.cu").read_text(), plan, arrays,
                    [(shape, DTYPES[kind]) for shape, kind in outputs], folder)  # fmt: skip
    for (_, kind), got, want in zip(outputs, made, expected, strict=True):
        if not kind.startswith("f"):
            numpy.testing.assert_array_equal(got, want)
            continue
        tolerance = {"f64": 1e-12, "f32": 2e-5, "f16": 4e-3}[kind]
        size = numpy.abs(want.astype("f8"))
        scale = size[numpy.isfinite(size)].max(initial=0)
        numpy.testing.assert_allclose(got, want, tolerance, tolerance * scale)


def check_compiles(scaffold, folder):
    """A search takes the plain CUDA-C: its plan keeps the rules, and where NVRTC is, it
    compiles. What does not is refused, and nothing would be pending."""
    fastk("fastk-opt", scaffold / "workload.mlir", "--target=cuda:sm_90a", "--search=all",
          f"--proposer=files:{scaffold}", f"--bank={folder / 'gpu-bank'}",
          f"--evaluator=spool:{folder / 'gpu-jobs'}", "-o", folder / "never.mlir",
          status=75)  # fmt: skip


@pytest.mark.parametrize("model", MODELS)
def test_golden_models(model, tmp_path):
    path = GOLDEN / f"{model}.mlir"
    keys = workloads_of(path, tmp_path)
    assert keys
    for key in keys:
        folder = tmp_path / key[:8]
        folder.mkdir()
        assert check_on_host(path, key, folder)
        check_cuda(path, key, folder)


@pytest.mark.parametrize("name", OWN)
def test_own_models(name, tmp_path):
    path = tmp_path / "model.mlir"
    path.write_text(OWN[name])
    keys = workloads_of(path, tmp_path, "--fusion=whole")
    assert keys
    for key in keys:
        folder = tmp_path / key[:8]
        folder.mkdir()
        assert check_on_host(path, key, folder, "--fusion=whole")
        check_cuda(path, key, folder, "--fusion=whole")
        check_compiles(folder / "cuda", folder)


@pytest.mark.parametrize("core", CORES)
def test_random_workloads(core, tmp_path):
    """C and CUDA-C differ in little: the one that is judged stands for both."""
    path = tmp_path / "samples.mlir"
    fastk("fastk-opt", "/dev/null", f"--fastk-sample-workloads=core={core} seed=5 count=2",
          "-o", path)  # fmt: skip
    judged = 0
    for key in workloads_of(path, tmp_path, "--fusion=whole"):
        folder = tmp_path / key[:8]
        folder.mkdir()
        judged += check_on_host(path, key, folder, "--fusion=whole")
    assert judged
