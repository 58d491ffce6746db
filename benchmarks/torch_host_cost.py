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
twentieth of the difference is a call, without what the wrapper costs once. All are
measured in turns; printed are medians and quartiles. Sizes are so small that the GPU
waits for the host. FASTK_OPT names fastk-opt, for `make`.
"""

import argparse
import ctypes
import functools
import os
import pathlib
import statistics
import subprocess
import sys
import time
import types

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


#: Turns in which all are measured, and calls of each in a turn.
TURNS, CALLS = 80, 10
#: Calls in the long function beside the one in the short.
MORE = 20


def microseconds(calls, synchronize):
    """Of a call of each function, in turns: {name: [a turn's]}."""
    for call in calls.values():
        for _ in range(20):
            call()
    times = {name: [] for name in calls}
    for _ in range(TURNS):
        for name, call in calls.items():
            synchronize()
            start = time.perf_counter()
            for _ in range(CALLS):
                call()
            times[name].append((time.perf_counter() - start) / CALLS * 1e6)
    return times


def chain(function, count):
    """A function of `count` dependent calls, of a code of its own: Dynamo caches by it."""

    def repeated(*operands):
        result = operands[0]
        for _ in range(count):
            result = function(result, *operands[1:])
        return result

    code = repeated.__code__.replace(co_name=f"repeated_{count}_{id(function)}")
    return types.FunctionType(code, globals(), closure=repeated.__closure__)


PTX = b""".version 7.8
.target sm_80
.address_size 64
.visible .entry idle(.param .u64 a, .param .u64 b, .param .u64 c) { ret; }
"""


def bare_launch(torch):
    """What calls cuLaunchKernel by ctypes, for a kernel of three pointers that does
    nothing, and what calls another function of the driver so."""
    driver = ctypes.CDLL("libcuda.so.1")
    module, kernel = ctypes.c_void_p(), ctypes.c_void_p()
    assert driver.cuModuleLoadData(ctypes.byref(module), PTX) == 0
    assert driver.cuModuleGetFunction(ctypes.byref(kernel), module, b"idle") == 0
    values = [ctypes.c_uint64(0) for _ in range(3)]
    pointers = (ctypes.c_void_p * 3)(*[ctypes.addressof(value) for value in values])
    launch, idle = driver.cuLaunchKernel, driver.cuStreamIsCapturing
    sizes = [ctypes.c_uint] * 7
    launch.argtypes = [ctypes.c_void_p, *sizes, *[ctypes.c_void_p] * 3]
    # As many arguments, of which it reads two.
    idle.argtypes = [ctypes.c_void_p] * 2 + [ctypes.c_uint] * 7 + [ctypes.c_void_p] * 2
    stream, status = torch.cuda.current_stream().cuda_stream, ctypes.c_int()
    pointer = ctypes.addressof(status)

    def launches():
        launch(kernel, 1, 1, 1, 32, 1, 1, 0, stream, pointers, None)

    def asks():
        idle(stream, pointer, 1, 1, 1, 32, 1, 1, 0, stream, None)

    return {"launch": launches, "ask": asks}


def our_ops(folder, torch):
    """{what it is: (op, operands)} of the programs, called both ways."""
    from fastk.dynamo import native, ops

    one = ((SIZE, SIZE), torch.float32)
    a, b = torch.rand(SIZE, SIZE, device="cuda"), torch.rand(SIZE, SIZE, device="cuda")
    found, library = {}, native._library
    for way in ("native", "python"):
        native._library = library if way == "native" else lambda: None
        for name, (count, _) in PROGRAMS.items():
            kept = len(native._kept)
            path = str(folder / f"{name}.plan")
            op = ops.register(path, f"{way}{name}", way * 8, name, [one] * count, [one])
            assert (len(native._kept) > kept) == (way == "native")
            operands = (a, b)[:count]
            of_torch = {"add": torch.add, "product": torch.mm, "exp": torch.exp}[name]
            assert torch.allclose(op(*operands), of_torch(*operands), rtol=1e-4), name
            found[f"fastk's {name}, {way}"] = (op, operands)
    return found


def torchs_ops(torch):
    """The same of ops that Inductor calls: its own extern call and one of nobody's."""
    a, b = torch.rand(SIZE, SIZE, device="cuda"), torch.rand(SIZE, SIZE, device="cuda")
    library = torch.library.Library("hostcost", "DEF")
    library.define("idle(Tensor a) -> Tensor")
    library.impl("idle", torch.empty_like, "CUDA")
    torch.library.register_fake("hostcost::idle", torch.empty_like, lib=library)
    return {
        "Inductor's extern mm": (torch.mm, (a, b)),
        "an op in Python that allocates": (torch.ops.hostcost.idle.default, (a,)),
        "library": library,  # kept
    }


def measure(folder):
    import torch

    ops = {**our_ops(folder, torch), **torchs_ops(torch)}
    kept = ops.pop("library")
    calls = bare_launch(torch)
    for name, (function, operands) in ops.items():
        for count in (1, 1 + MORE):
            compiled = torch.compile(chain(function, count), dynamic=False)
            calls[name, count] = functools.partial(compiled, *operands)
    with torch.no_grad():
        times = microseconds(calls, torch.cuda.synchronize)
    del kept
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}")
    launch = statistics.median(
        one - other for one, other in zip(times["launch"], times["ask"])
    )
    print(f"{'a bare launch':36} {launch:6.2f} us")
    for name in ops:
        pairs = zip(times[name, 1], times[name, 1 + MORE])
        costs = sorted((long - short) / MORE for short, long in pairs)
        cost, low, high = (costs[int(len(costs) * part)] for part in (0.5, 0.25, 0.75))
        print(f"{name:36} {cost:6.2f} us ({low:.2f} to {high:.2f})")


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("what", choices=["make", "time"])
    parser.add_argument("folder", type=pathlib.Path)
    options = parser.parse_args()
    (make if options.what == "make" else measure)(options.folder)


if __name__ == "__main__":
    sys.exit(main())
