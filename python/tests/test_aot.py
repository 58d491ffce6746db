# ===- test_aot.py - What --emit writes, used as a user would -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""--emit=so, obj and llvm give libraries, objects and text that others can use.

A library is called from Python by ctypes, an object is linked into a C program,
the text is read by LLVM's own assembler; results are those of fastk-run, bit for
bit, since all three compile the same module.
"""

import re
import subprocess

import numpy
import pytest
from compiled import DTYPES, Library, fastk, run_model
from conftest import GOLDEN, tool

#: One and several arguments, f32 and f16, one and several workloads.
MODELS = [
    "matmul_f16_small",
    "linear_gelu_small",
    "resnet_block_small",
    "transformer_block_small",
]


@pytest.fixture
def bank(tmp_path):
    (tmp_path / "bank").mkdir()
    return f"--bank={tmp_path / 'bank'}"


@pytest.fixture
def compile_model(tmp_path, bank):
    def run(name, emit):
        output = tmp_path / f"{name}.{emit}"
        fastk("fastk-opt", GOLDEN / f"{name}.mlir", bank, f"--emit={emit}", "-o", output)
        return output

    return run


def draw(signature, seed=3):
    generator = numpy.random.default_rng(seed)
    # Positive: batch norm takes a variance.
    return [
        generator.uniform(0.5, 1.5, want["shape"]).astype(DTYPES[want["dtype"]])
        for want in signature["inputs"]
    ]


@pytest.mark.parametrize("name", MODELS)
def test_a_library_called_from_python_is_the_model(name, compile_model, bank, tmp_path):
    path = compile_model(name, "so")
    library = Library(path)
    arrays = draw(library.signature)
    results = library(*arrays)
    (tmp_path / "model").mkdir()
    expected = run_model(GOLDEN / f"{name}.mlir", arrays, tmp_path / "model", bank)
    for got, want in zip(results, expected, strict=True):
        assert got.dtype == want.dtype
        assert numpy.isfinite(got).all()
        assert got.tobytes() == want.tobytes()
    # The same file given to fastk-run.
    (tmp_path / "library").mkdir()
    loaded = run_model(path, arrays, tmp_path / "library")
    assert [a.tobytes() for a in loaded] == [a.tobytes() for a in expected]


def test_a_library_can_be_called_again_and_from_a_thread(compile_model):
    """Nothing is kept between calls: no static buffers, no leaked state."""
    import threading

    library = Library(compile_model("transformer_block_small", "so"))
    first, second = draw(library.signature, 3), draw(library.signature, 4)
    wanted = [library(*first)[0].tobytes(), library(*second)[0].tobytes()]
    assert wanted[0] != wanted[1]
    got = [[], []]

    def call(index, arrays):
        for _ in range(20):
            got[index].append(library(*arrays)[0].tobytes())

    threads = [
        threading.Thread(target=call, args=(i, a)) for i, a in enumerate([first, second])
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(got[0]) == {wanted[0]}
    assert set(got[1]) == {wanted[1]}


def test_equal_inputs_give_equal_bytes(compile_model):
    name = "transformer_block_small"
    for emit in ("so", "obj", "llvm"):
        path = compile_model(name, emit)
        once = path.read_bytes()
        path.unlink()
        assert compile_model(name, emit).read_bytes() == once


def test_a_library_exports_its_functions_alone(compile_model):
    path = compile_model("transformer_block_small", "so")
    listed = subprocess.run(
        [tool("llvm-nm"), "--dynamic", "--defined-only", "--format=just-symbols", path],
        text=True,
        capture_output=True,
        check=True,
    ).stdout.split()
    of_forward = ["error", "interface", "signature", "version"]
    assert sorted(listed) == [
        *(f"fastk_{what}_forward" for what in of_forward),
        "forward",
        "forward_packed",
    ]


def test_the_text_is_llvm_ir(compile_model, tmp_path):
    path = compile_model("transformer_block_small", "llvm")
    assert re.search(r"define.* i32 @forward\(", path.read_text())
    for command in (
        [tool("llvm-as"), path, "-o", tmp_path / "model.bc"],
        [tool("opt"), "-passes=verify", "-disable-output", path],
    ):
        result = subprocess.run(command, text=True, capture_output=True, check=False)
        assert result.returncode == 0, result.stderr


CALLER = r"""
#include <stdio.h>
#include <stdlib.h>
int forward(const float *in0, const float *in1, const float *in2, float *out0);
extern const char fastk_signature_forward[];
static float *read_all(const char *path, size_t count) {
  float *data = aligned_alloc(64, (count * sizeof(float) + 63) / 64 * 64);
  FILE *file = fopen(path, "rb");
  if (!file || fread(data, sizeof(float), count, file) != count)
    exit(3);
  fclose(file);
  return data;
}
int main(void) {
  float *out = aligned_alloc(64, (20 * 52 * sizeof(float) + 63) / 64 * 64);
  if (forward(read_all("in0", 52 * 24), read_all("in1", 52), read_all("in2", 20 * 24),
              out))
    return 4;
  puts(fastk_signature_forward);
  FILE *file = fopen("out0", "wb");
  if (fwrite(out, sizeof(float), 20 * 52, file) != 20 * 52)
    return 3;
  return fclose(file);
}
"""


def test_an_object_links_with_a_c_program(compile_model, bank, tmp_path):
    """Weight (52, 24), bias and input (20, 24) give a result (20, 52)."""
    path = compile_model("linear_gelu_small", "obj")
    (tmp_path / "caller.c").write_text(CALLER)
    link = [tool("clang"), "-Wall", "-Werror", "caller.c", path, "-lm", "-o", "caller"]
    subprocess.run([*link, "-fopenmp"], cwd=tmp_path, check=True)
    shapes = [(52, 24), (52,), (20, 24)]
    generator = numpy.random.default_rng(3)
    arrays = [generator.standard_normal(shape).astype("f4") for shape in shapes]
    for i, array in enumerate(arrays):
        array.tofile(tmp_path / f"in{i}")
    result = subprocess.run(
        [tmp_path / "caller"], cwd=tmp_path, text=True, capture_output=True, check=False
    )
    assert result.returncode == 0, result.stderr
    assert '"shape":[52,24]' in result.stdout.replace(" ", "")
    got = numpy.fromfile(tmp_path / "out0", "f4").reshape(20, 52)
    model = GOLDEN / "linear_gelu_small.mlir"
    (expected,) = run_model(model, arrays, tmp_path, bank)
    assert got.tobytes() == expected.tobytes()
