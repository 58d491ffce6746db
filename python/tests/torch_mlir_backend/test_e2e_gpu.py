# ===- test_e2e_gpu.py - torch-mlir's tests in three steps -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""The steps for a GPU, of which a machine without one has the first and the last."""

import json
import os
import struct
import subprocess
import sys
import textwrap

import pytest
from compiled import BIN
from conftest import PYTHON, python
from test_e2e import checkout  # noqa: F401, a fixture

from fastk.torch_mlir.e2e import workers
from fastk.torch_mlir.e2e.pack import Call, Pack, PackError, Result

RELU = {
    "inputs": [{"dtype": "f32", "shape": [64, 128]}],
    "outputs": [{"dtype": "f32", "shape": [64, 128]}],
}


def step(name, output, *more):
    return python(
        *("-m", "fastk.torch_mlir.e2e", "--target=cuda:sm_90a", f"-o{output}"),
        *(f"--steps={name}", *more),
    )


@pytest.fixture(scope="module")
def packed(checkout, tmp_path_factory):  # noqa: F811
    """The output of a step compile, and what else the steps want."""
    output = tmp_path_factory.mktemp("gpu") / "table"
    more = [f"--torch-mlir={checkout}", f"--fastk-opt={BIN / 'fastk-opt'}", "--timeout=15"]
    result = step("compile", output, *more)
    assert result.returncode == 0, result.stderr
    assert "1 tests are packed" in result.stderr
    return output, more


def statuses(output):
    data = json.loads(output.with_suffix(".json").read_text())
    return {
        test: (fields["fastk"]["status"], fields["fastk"].get("phase", ""))
        for test, fields in data["tests"].items()
    }


def test_what_does_not_compile_has_its_result(packed):
    output, more = packed
    assert statuses(output) == {
        "Fails": ("fail", "compile"),
        "Crashes": ("crash", "import"),
        "Hangs": ("timeout", "import"),
    }
    (call,) = Pack(f"{output}.pack").read_test("Passes")
    assert (call.function, len(call.inputs[0])) == ("forward", 64 * 128 * 4)
    assert call.signature["target"] == "cuda:sm_90a"
    again = step("compile", output, *more)
    assert "0 tests to compile" in again.stderr


@pytest.mark.parametrize(
    "result, status, reason",
    [
        (Result("ok", machine="a GPU"), ("pass", ""), None),
        (Result("ok", machine="a GPU", outputs="wrong"), ("fail", "compare"), "another"),
        (Result("crash", "SIGSEGV"), ("crash", "run"), "SIGSEGV"),
        (Result("fail", "no driver"), ("fail", "run"), "no driver"),
    ],
)
def test_the_framework_compares_what_comes_back(packed, result, status, reason):
    output, more = packed
    pack = Pack(f"{output}.pack")
    (call,) = pack.read_test("Passes")
    values = struct.unpack(f"{64 * 128}f", call.inputs[0])
    if result.status == "ok":
        values = values if result.outputs else [max(x, 0.0) for x in values]
        result.outputs = [[struct.pack(f"{64 * 128}f", *values)]]
    result.pack = pack.digest("Passes")
    pack.write_result("Passes", result)
    done = step("compare", output, *more, "--filter=Passes", "--again=all")
    assert done.returncode == (0 if status[0] == "pass" else 2), done.stderr
    assert statuses(output)["Passes"] == status
    page = output.with_suffix(".md").read_text()
    assert "--target=cuda:sm_90a" in page
    if result.machine:
        assert "| GPU | a GPU |" in page
    if reason:
        assert reason in page


def test_a_result_of_another_pack_is_none(tmp_path):
    pack = Pack(tmp_path / "pack")
    runtime = tmp_path / "runtime"
    runtime.write_text("code")
    pack.make(runtime)
    pack.write_test("A", [Call("f", RELU, b"library", [b"1", b""])], "one")
    assert pack.names() == ["A"] and pack.has("A", "one") and not pack.has("A", "two")
    pack.write_result("A", Result("ok", pack=pack.digest("A"), outputs=[[b"x", b""]]))
    assert pack.read_result("A").outputs == [[b"x", b""]]
    pack.write_test("A", [Call("f", RELU, b"library", [b"2", b""])], "one")
    assert pack.read_result("A") is None
    (tmp_path / "pack" / "tests" / "A.zip").write_text("no archive")
    with pytest.raises(PackError, match="A cannot be read"):
        pack.read_test("A")
    with pytest.raises(PackError, match="is no folder of compiled tests"):
        Pack(tmp_path / "nowhere").names()


def test_the_step_run_wants_neither_torch_nor_a_checkout(packed):
    output, _ = packed
    code = f"""
        import sys
        sys.modules["torch"] = sys.modules["torch_mlir"] = sys.modules["numpy"] = None
        from fastk.torch_mlir.e2e.__main__ import main
        sys.exit(main(["--target=cuda:sm_90a", "-o{output}", "--steps=run", "--again=all"]))
    """
    environment = dict(os.environ, PYTHONPATH=str(PYTHON), CUDA_VISIBLE_DEVICES="")
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2, done.stderr
    assert "1 tests ran" in done.stderr and "1 without results" in done.stderr
    assert Pack(f"{output}.pack").read_result("Passes").reason


class FakePack:
    """Results in memory."""

    folder = "nowhere"

    def __init__(self):
        self.results = {}

    def digest(self, name):
        return "digest"

    def read_result(self, name):
        return self.results.get(name)

    def write_result(self, name, result):
        self.results[name] = result


def test_a_crash_and_a_hang_cost_one_result_each(monkeypatch):
    worker = textwrap.dedent("""
        import os, sys, time
        for line in sys.stdin:
            if line.startswith("crash"):
                os.abort()
            if line.startswith("hang"):
                time.sleep(100)
            print(line.strip(), flush=True)
    """)
    monkeypatch.setattr(
        workers, "command", lambda folder: [sys.executable, "-c", worker]
    )
    # Python takes its time to start on a busy machine.
    monkeypatch.setattr(workers, "START", 10.0)
    pack, seen = FakePack(), []
    names = ["one", "crash", "two", "hang", "three", "four"]
    workers.run(pack, names, 2, 3.0, seen.append)
    assert sorted(seen) == sorted(names)
    assert {name: result.status for name, result in pack.results.items()} == {
        "crash": "crash", "hang": "timeout"
    }  # fmt: skip
    assert "SIGABRT" in pack.results["crash"].reason


@pytest.mark.parametrize(
    "more, message",
    [
        (["--steps=pack"], "--steps: no step 'pack'; there are compile, run, compare"),
        (["--steps=compile"], "--torch-mlir names a checkout"),
        (["--steps=run"], "is no folder of compiled tests"),
    ],
)
def test_wrong_options(tmp_path, more, message):
    done = python(
        "-m", "fastk.torch_mlir.e2e", "--target=cuda:sm_90a", f"-o{tmp_path / 't'}", *more
    )
    assert done.returncode == 1 and message in done.stderr, done.stderr
    assert "Traceback" not in done.stderr
