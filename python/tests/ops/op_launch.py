# ===- op_launch.py - Runs packed programs of rows -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Runs what `gpu_results.py pack` wrote: needs numpy, and for a GPU its driver.

Each program runs in a process of its own, for a fault on a GPU ends all that its
process does there. What fails is tried again in halves, down to the result that
fails. Results are written as they come.
"""

import collections
import concurrent.futures
import ctypes
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import time

import numpy

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

from fastk.driver import Driver, DriverError

#: Of a buffer; hosts' kernels want 64, GPUs' 16.
ALIGNMENT = 256
IMAGE = "ops"


class Failure(Exception):
    """Something could not be run; the message says why."""


class Unusable(Failure):
    """A part of it could not be run, either."""


#: How a process says Unusable.
UNUSABLE = 3


# ---------------------------------------------------------------------------
# In the process of one program
# ---------------------------------------------------------------------------


class Buffers:
    """The operands and results of a kernel, one behind the other."""

    def __init__(self, inputs, outputs):
        self.offsets, end = [], 0
        for array in (*inputs, *outputs):
            self.offsets.append(end)
            end += -(-array.nbytes // ALIGNMENT) * ALIGNMENT
        # NaN, or -1, where nothing is written.
        memory = numpy.full(end + ALIGNMENT, 0xFF, "u1")
        start = -memory.ctypes.data % ALIGNMENT
        self.memory = memory[start : start + end]
        self.views = [
            self.memory[offset : offset + array.nbytes].view(array.dtype)
            for offset, array in zip(self.offsets, (*inputs, *outputs))
        ]
        for view, array in zip(self.views, inputs):
            view[...] = array
        self.results = self.views[len(inputs) :]

    def addresses(self, base):
        return [base + offset for offset in self.offsets]


def run_on_host(folder, program, buffers):
    kernel = ctypes.CDLL(str(folder / program["code"])).fastk_kernel
    kernel.restype = None
    addresses = buffers.addresses(buffers.memory.ctypes.data)
    # The workspace comes last; only kernels written in C have one.
    kernel(*map(ctypes.c_void_p, addresses), None)
    return "the host"


def plan_file(program, plan, sizes, code):
    """A plan file (docs/formats/plan-file.md) of one function, on bytes."""
    tensors = [{"dtype": "i8", "shape": [size]} for size in sizes]
    count = len(program["inputs"])
    text = json.dumps({
        "target": program["target"],
        "images": [{"name": IMAGE, "at": 0, "bytes": len(code)}],
        "constants": [],
        "functions": [{
            "name": program["name"],
            "signature": {"inputs": tensors[:count], "outputs": tensors[count:]},
            "images": [0], "constants": [], "plan": plan,
        }],
    }).encode()  # fmt: skip
    head = b"fastk-plan 1 %d\n" % len(text) + text
    return head + b"\n" * (-len(head) % 64) + code


def steps_for(plan, outputs):
    """The steps that make these results, in their order."""
    # Backwards: a result may hold something else before it is made. Elementwise
    # kernels write all of their last operand and nothing else.
    needed, steps = {f"out{output}" for output in outputs}, []
    for step in reversed(plan["steps"]):
        *read, written = step.get("arguments") or [step["memset"]]
        if written in needed:
            needed.remove(written)
            needed |= {
                name for name in read if isinstance(name, str) and name[:2] != "in"
            }
            steps.insert(0, step)
    if needed:
        raise Unusable(f"no step of the plan makes {', '.join(sorted(needed))}")
    return steps


def run_on_gpu(folder, program, outputs, buffers):
    """Launches what makes the results `outputs`; returns the GPU's name."""
    runtime = ctypes.CDLL(str(folder / "libfastk_runtime.so"))
    runtime.fastk_last_error.restype = ctypes.c_char_p
    code = (folder / program["code"]).read_bytes()
    plan = program["plan"]
    if len(outputs) < len(program["outputs"]):
        plan = dict(plan, steps=steps_for(plan, outputs))
    sizes = [view.nbytes for view in buffers.views]
    file = plan_file(program, plan, sizes, code)
    for name in ("fastk_open_memory", "fastk_find"):
        getattr(runtime, name).restype = ctypes.c_void_p
    model = runtime.fastk_open_memory(file, ctypes.c_uint64(len(file)))
    function = ctypes.c_void_p(model and runtime.fastk_find(ctypes.c_void_p(model), b""))
    # It makes the GPU's context, and code that does not load is told here.
    if not function or runtime.fastk_prepare(function):
        raise Unusable(runtime.fastk_last_error().decode())
    driver = Driver()
    memory, host = ctypes.c_uint64(), ctypes.c_void_p(buffers.memory.ctypes.data)
    size = ctypes.c_size_t(buffers.memory.nbytes)
    driver("cuMemAlloc_v2", ctypes.byref(memory), size)
    driver("cuMemcpyHtoD_v2", memory, host, size)
    addresses = buffers.addresses(memory.value)
    if runtime.fastk_call(function, (ctypes.c_void_p * len(addresses))(*addresses)):
        raise Failure(runtime.fastk_last_error().decode())
    driver("cuCtxSynchronize")
    driver("cuMemcpyDtoH_v2", host, memory, size)
    return driver.describe()


def run_here(folder, name, outputs, path):
    """Runs a program in this process; writes its results `outputs` to `path`."""
    manifest = json.loads((folder / "manifest.json").read_text())
    (program,) = (each for each in manifest["programs"] if each["name"] == name)
    inputs = [numpy.load(folder / file) for file in program["inputs"]]
    results = [numpy.empty(count, type) for type, count in program["outputs"]]
    buffers = Buffers(inputs, results)
    if program["target"] == "host":
        machine = run_on_host(folder, program, buffers)
    else:
        machine = run_on_gpu(folder, program, outputs, buffers)
    arrays = {f"{name}/{output}": buffers.results[output] for output in outputs}
    numpy.savez(path, machine=machine, **arrays)


# ---------------------------------------------------------------------------
# In the process of all
# ---------------------------------------------------------------------------


def halves(outputs):
    middle = len(outputs) // 2
    return [outputs[:middle], outputs[middle:]]


def isolate(parts, attempt):
    """Attempts to make each part; halves what fails, others first.

    Returns why for each output that cannot be made.
    """
    failed, pending = {}, collections.deque(parts)
    while pending:
        part = pending.popleft()
        try:
            attempt(part)
        except Failure as error:
            if len(part) > 1 and not isinstance(error, Unusable):
                pending += halves(part)
            else:
                failed |= dict.fromkeys(part, str(error))
    return failed


class Run:
    """A run of all programs of a folder."""

    def __init__(self, folder, results, seconds, timeout):
        self.folder, self.path, self.timeout = folder, results, timeout
        self.programs = json.loads((folder / "manifest.json").read_text())["programs"]
        self.end = time.monotonic() + seconds
        self.arrays = {}
        self.lock = threading.Lock()
        self.save()  # Nothing of an earlier run is left.

    def save(self):
        # What is there stays whole if this process is ended.
        new = self.path.with_name(self.path.name + ".new")
        with new.open("wb") as file:
            numpy.savez(file, **self.arrays)
        os.replace(new, self.path)

    def attempt(self, program, outputs):
        """Runs a program in a process of its own, and keeps its results."""
        left = min(self.timeout, self.end - time.monotonic())
        if left <= 0:
            raise Unusable("no time is left: raise --seconds")
        with tempfile.TemporaryDirectory(prefix="fastk-ops-") as scratch:
            path = pathlib.Path(scratch) / "results.npz"
            command = [sys.executable, __file__, self.folder, program["name"], path]
            try:
                done = subprocess.run(
                    [*command, ",".join(map(str, outputs))], timeout=left, text=True,
                    stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                    errors="replace", check=False,
                )  # fmt: skip
            except subprocess.TimeoutExpired:
                raise Failure(f"not done after {left:.0f} s") from None
            if done.returncode:
                last = done.stderr.strip().rpartition("\n")[2]
                kind = Unusable if done.returncode == UNUSABLE else Failure
                raise kind(last or f"ended with status {done.returncode}")
            with numpy.load(path) as arrays, self.lock:
                self.arrays.update(arrays)
                self.save()

    def run_whole(self, program):
        """Returns why for each output that is not there; None if a part may be."""
        outputs = [*range(len(program["outputs"]))]
        try:
            self.attempt(program, outputs)
        except Failure as error:
            # On the host one function makes all; some steps belong together.
            is_whole = program["target"] == "host" or program["whole"]
            if not is_whole and not isinstance(error, Unusable):
                return None
            return dict.fromkeys(outputs, str(error))
        return {}

    def run_parts(self, program):
        outputs = [*range(len(program["outputs"]))]
        return isolate(halves(outputs), lambda part: self.attempt(program, part))


def say(program, failed):
    """Names the rows whose results are not there; returns how many."""
    results = zip(program["rows"], program["results"])
    rows = {row: failed[output] for row, output in results if output in failed}
    if len(rows) == len(set(program["rows"])) and len(set(rows.values())) == 1:
        print(f"{program['name']}, all {len(rows)} rows: {next(iter(rows.values()))}")
    else:
        for row, error in rows.items():
            print(f"{row} ({program['role']}): {error}")
    return len(rows)


def run(folder, results, processes, seconds, timeout):
    """Runs every program of a folder; returns the exit code."""
    start = time.monotonic()
    run = Run(folder, results, seconds, timeout)
    with concurrent.futures.ThreadPoolExecutor(processes) as pool:
        failed = list(pool.map(run.run_whole, run.programs))
        # What works is done: the rest of the time is for what does not.
        again = [p for p, outcome in zip(run.programs, failed) if outcome is None]
        parts = iter(list(pool.map(run.run_parts, again)))
    lost = sum(
        say(program, next(parts) if outcome is None else outcome)
        for program, outcome in zip(run.programs, failed)
    )
    rows = sum(len(set(program["rows"])) for program in run.programs)
    print(
        f"{len(run.programs)} programs on {run.arrays.get('machine', 'no machine')}: "
        f"{rows - lost} rows ran, {lost} did not, in {time.monotonic() - start:.1f} s; "
        f"results are in {results}"
    )
    return 1 if lost else 0


if __name__ == "__main__":
    try:
        run_here(
            pathlib.Path(sys.argv[1]),
            sys.argv[2],
            [*map(int, sys.argv[4].split(","))],
            pathlib.Path(sys.argv[3]),
        )
    except (Failure, DriverError, OSError) as error:
        print(*str(error).split(), file=sys.stderr)
        sys.exit(UNUSABLE if isinstance(error, (Unusable, OSError)) else 1)
