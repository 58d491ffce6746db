# ===- torch_host_cost.py - What a call of an op costs the host -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Measures what a call of one of fastk's ops costs the host beside Inductor's own calls.

    PYTHONPATH=python python3 benchmarks/torch_host_cost.py make FOLDER    # anywhere
    PYTHONPATH=python python3 benchmarks/torch_host_cost.py time FOLDER    # on a GPU

A function of 21 dependent calls and one of a single call are compiled by Inductor; a
twentieth of the difference is a call, without what the wrapper costs once. Sizes are so
small that the GPU waits for the host. FASTK_OPT names fastk-opt, for `make`.
"""

import argparse
import ctypes
import os
import pathlib
import statistics
import subprocess
import sys
import time

SIZE = 32
#: name: (operands, body of its function).
PROGRAMS = {
    "add": (2, "linalg.add ins(%a, %b : T, T) outs(%e : T) -> T"),
    "product": (2, "linalg.matmul ins(%a, %b : T, T) outs(%f : T) -> T"),
    "exp": (1, "linalg.exp ins(%a : T) outs(%e : T) -> T"),
}


def text_of(count, body):
    kind = f"tensor<{SIZE}x{SIZE}xf32>"
    names = [f"%{'ab'[index]}: {kind}" for index in range(count)]
    return f"""func.func @forward({", ".join(names)}) -> {kind} {{
  %e = tensor.empty() : {kind}
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%e : {kind}) -> {kind}
  %r = {body.replace("T", kind)}
  return %r : {kind}
}}
"""


def make(folder):
    folder.mkdir(parents=True, exist_ok=True)
    for name, (count, body) in PROGRAMS.items():
        model = folder / f"{name}.mlir"
        model.write_text(text_of(count, body))
        command = [os.environ.get("FASTK_OPT", "fastk-opt"), model]
        command += ["--target=cuda:sm_90a", "--emit=plan", "-o", folder / f"{name}.plan"]
        subprocess.run(command, check=True)


def microseconds(call, synchronize, rounds=40, calls=50):
    """Of one call: the median round."""
    for _ in range(200):
        call()
    synchronize()
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        for _ in range(calls):
            call()
        times.append((time.perf_counter() - start) / calls)
        synchronize()
    return statistics.median(times) * 1e6


def per_call(function, operands, torch):
    """Microseconds of one of the calls that Inductor's wrapper makes."""
    costs = []
    for count in (1, 21):

        def repeated(*operands, count=count):
            result = operands[0]
            for _ in range(count):
                result = function(result, *operands[1:])
            return result

        torch._dynamo.reset()
        compiled = torch.compile(repeated, dynamic=False)
        costs.append(
            microseconds(lambda: compiled(*operands), torch.cuda.synchronize)  # noqa: B023
        )
    return (costs[1] - costs[0]) / 20


PTX = b""".version 7.8
.target sm_80
.address_size 64
.visible .entry idle(.param .u64 a, .param .u64 b, .param .u64 c) { ret; }
"""


def launch_cost(torch):
    """Microseconds of a bare cuLaunchKernel of three pointers, called by ctypes, and of
    a call by ctypes that does nothing."""
    driver = ctypes.CDLL("libcuda.so.1")
    module, kernel = ctypes.c_void_p(), ctypes.c_void_p()
    assert driver.cuModuleLoadData(ctypes.byref(module), PTX) == 0
    assert driver.cuModuleGetFunction(ctypes.byref(kernel), module, b"idle") == 0
    values = [ctypes.c_uint64(0) for _ in range(3)]
    pointers = (ctypes.c_void_p * 3)(*[ctypes.addressof(value) for value in values])
    launch = driver.cuLaunchKernel
    sizes = [ctypes.c_uint] * 7
    launch.argtypes = [ctypes.c_void_p, *sizes, *[ctypes.c_void_p] * 3]
    stream = torch.cuda.current_stream().cuda_stream

    def call():
        launch(kernel, 1, 1, 1, 32, 1, 1, 0, stream, pointers, None)

    idle = driver.cuDriverGetVersion
    version = ctypes.byref(ctypes.c_int())
    both = [microseconds(each, torch.cuda.synchronize) for each in (call, lambda: idle(version))]
    return both[0] - both[1], both[1]


def measure(folder):
    import torch

    from fastk.dynamo import native, ops

    one = ((SIZE, SIZE), torch.float32)
    a, b = torch.rand(SIZE, SIZE, device="cuda"), torch.rand(SIZE, SIZE, device="cuda")
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}")
    launch, idle = launch_cost(torch)
    print(f"bare launch {launch:.2f} us (and {idle:.2f} us of ctypes)")
    rows = []
    for way in ("native", "python"):
        if way == "python":
            native._library = lambda: None
        for name, (count, _) in PROGRAMS.items():
            kept = len(native._kept)
            path = str(folder / f"{name}.plan")
            op = ops.register(path, f"{way}{name}", way * 8, name, [one] * count, [one])
            assert (len(native._kept) > kept) == (way == "native")
            operands = (a, b)[:count]
            wanted = {"add": torch.add, "product": torch.mm, "exp": torch.exp}[name](*operands)
            assert torch.allclose(op(*operands), wanted, rtol=1e-4), name
            rows.append((f"fastk's {name}, {way}", per_call(op, operands, torch)))
    # Inductor's extern call, into a result that is there; ops that it does not know.
    rows.append(("Inductor's extern mm", per_call(torch.mm, (a, b), torch)))
    library = torch.library.Library("hostcost", "DEF")
    library.define("idle(Tensor a) -> Tensor")
    library.impl("idle", torch.empty_like, "CUDA")
    torch.library.register_fake("hostcost::idle", torch.empty_like, lib=library)
    idle_op = torch.ops.hostcost.idle.default
    rows.append(("an op in Python that allocates alone", per_call(idle_op, (a,), torch)))
    sort = torch.ops.aten.cumsum.default
    rows.append(("aten's cumsum, a fallback", per_call(lambda x: sort(x, 0), (a,), torch)))
    for name, cost in rows:
        print(f"{name:40} {cost:6.2f} us, {cost - launch:6.2f} above a launch")


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("what", choices=["make", "time"])
    parser.add_argument("folder", type=pathlib.Path)
    options = parser.parse_args()
    (make if options.what == "make" else measure)(options.folder)


if __name__ == "__main__":
    sys.exit(main())
