# ===- contender.py - One side of a comparison, in its own process -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Runs one implementation of an operator on demand; started by host.py and golden.py.

    contender.py eager|compile GOLDEN_NAME|FILE.py:NAME DATA_DIR THREADS [slow]
    contender.py library FILE.so DATA_DIR THREADS [slow]

A process of its own for each: two OpenMP runtimes in one process spin against
each other. Reads commands, one a line, answers each with a line of JSON:

    save FILE.npy     write the first result
    time SECONDS      call for about so long (5 times at least), after a call that
                      is not counted; answers {"times": [...], "faults": N}
    memory CALLS      the most bytes that a call has in memory beside what was there
                      before it, arguments and preallocated results: the least of so
                      many calls

With `slow`, for calls that take seconds, no call is thrown away but the first, and
one is enough.
"""

import ctypes
import json
import os
import pathlib
import resource
import sys
import time

import numpy

ROOT = pathlib.Path(__file__).resolve().parents[1]
DTYPES = {"f64": "f8", "f32": "f4", "f16": "f2", "i64": "i8", "i32": "i4", "i1": "?"}


def aligned(shape, dtype):
    """A zeroed array (its pages exist) whose memory is 64-byte aligned."""
    dtype = numpy.dtype(dtype)
    count = int(numpy.prod(shape)) * dtype.itemsize
    memory = numpy.empty(count + 64, numpy.uint8)
    memory[...] = 0
    start = -memory.ctypes.data % 64
    return memory[start : start + count].view(dtype).reshape(shape)


def load_inputs(folder):
    """in0.npy, in1.npy, ... in aligned memory."""
    arrays = []
    while (path := pathlib.Path(folder) / f"in{len(arrays)}.npy").exists():
        array = numpy.load(path)
        arrays.append(aligned(array.shape, array.dtype))
        arrays[-1][...] = array
    return arrays


class LibraryContender:
    """A library of `fastk-opt --emit=so`, through `forward_packed(void **)`."""

    output = "preallocated"

    def __init__(self, path, arrays):
        handle = ctypes.CDLL(os.path.abspath(path))
        self.entry = handle.forward_packed
        self.entry.argtypes = [ctypes.c_void_p]
        self.entry.restype = None
        address = ctypes.addressof(
            ctypes.c_char.in_dll(handle, "fastk_signature_forward")
        )
        signature = json.loads(ctypes.string_at(address))
        for array, want in zip(arrays, signature["inputs"], strict=True):
            if list(array.shape) != want["shape"] or array.dtype != DTYPES[want["dtype"]]:
                raise ValueError(f"{path} wants {want}, the data is {array.shape}")
        self.results = [
            aligned(want["shape"], DTYPES[want["dtype"]])
            for want in signature["outputs"]
        ]
        self.tensors = [*arrays, *self.results]
        self.pointers = (ctypes.c_void_p * len(self.tensors))(
            *(tensor.ctypes.data for tensor in self.tensors)
        )
        self.address = ctypes.addressof(self.pointers)

    def call(self):
        self.entry(self.address)

    def result(self):
        return self.results[0]


class TorchContender:
    """A module of golden.py, or of the file that is named, in eager mode or compiled."""

    def __init__(self, name, arrays, compiled):
        import torch

        sys.path.insert(0, str(ROOT / "python"))
        from fastk.importer import export, golden, source

        torch.set_grad_enabled(False)
        build = source.load(name) if ":" in name else getattr(golden, name)
        module, args, kwargs = source.call(build)
        assert not kwargs
        # Arguments of the import: weights, then inputs; see arguments_of.
        tensors = [torch.from_numpy(array) for array in arrays]
        weights = export.weights_of(module)
        for (_, own), drawn in zip(weights.values(), tensors):
            own.data = drawn
        inputs = tensors[len(weights) :]
        assert [t.shape for t in inputs] == [a.shape for a in args]
        self.inputs = tuple(inputs)
        self.keep = None
        self.function = module
        self.output = "reused heap"
        if compiled:
            self.function = torch.compile(module)
        else:
            self.prefer_out(torch, module)

    def prefer_out(self, torch, module):
        """The variants of torch's own that write to a given tensor."""
        first = self.inputs[0]
        if type(module).__name__ == "Matmul":
            shape = first.shape[0], self.inputs[1].shape[1]
            into = torch.zeros(shape, dtype=first.dtype)
            self.function = lambda a, b: torch.matmul(a, b, out=into)
            self.output = "out="
        elif isinstance(module, torch.nn.Softmax):
            into = torch.zeros_like(first)
            dim = module.dim
            self.function = lambda x: torch.softmax(x, dim, out=into)
            self.output = "out="

    def call(self):
        # The last result is freed before the next is made: the heap gives the
        # same, already mapped pages again.
        self.keep = None
        self.keep = self.function(*self.inputs)

    def result(self):
        return self.keep.numpy()


def block(contender, seconds, slow=False):
    """Calls for about `seconds`, after one that wakes threads.

    Returns {"times": seconds of each call, "faults": page faults per call}.
    """
    if not slow:
        contender.call()
    times = []
    faults = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    end = time.perf_counter() + seconds
    while len(times) < (1 if slow else 5) or time.perf_counter() < end:
        start = time.perf_counter()
        contender.call()
        times.append(time.perf_counter() - start)
    faults = resource.getrusage(resource.RUSAGE_SELF).ru_minflt - faults
    return {"times": times, "faults": faults / len(times)}


def status(field):
    """Bytes of a field of /proc/self/status."""
    for line in pathlib.Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1]) * 1024
    raise ValueError(f"/proc/self/status has no {field}")


def memory(contender, calls):
    """The most that a call adds to this process's memory, in bytes.

    As the system counts it, page by page: buffers that nobody touches are free,
    stacks of threads and what a library keeps for itself count. What the heap
    keeps of earlier calls would hide a call's own: the least threshold makes it
    give pages back.
    """
    least = None
    for _ in range(calls):
        contender.keep = None
        before = status("VmRSS")
        pathlib.Path("/proc/self/clear_refs").write_text("5")  # forget the peak
        contender.call()
        added = status("VmHWM") - before
        least = added if least is None else min(least, added)
    return least


def make(kind, what, arrays, threads):
    if kind == "library":
        return LibraryContender(what, arrays)
    import torch

    torch.set_num_threads(threads)
    return TorchContender(what, arrays, compiled=kind == "compile")


def main():
    kind, what, data, threads, *mode = sys.argv[1:]
    slow = mode == ["slow"]
    # What libraries print must not mix with the answers.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def answer(value):
        print(json.dumps(value), file=answers, flush=True)

    try:
        start = time.perf_counter()
        contender = make(kind, what, load_inputs(data), int(threads))
        contender.call()
        first = time.perf_counter() - start
        for _ in range(0 if slow else 2):
            contender.call()
    except Exception as error:  # whatever torch.compile raises is the answer
        answer({"error": f"{type(error).__name__}: {error}"})
        return
    answer({"output": contender.output, "first_call_seconds": first})
    for line in sys.stdin:
        command, argument = line.split(maxsplit=1)
        if command == "time":
            answer(block(contender, float(argument), slow))
        elif command == "memory":
            answer(memory(contender, int(argument)))
        elif command == "save":
            if not slow:
                contender.call()
            numpy.save(argument.strip(), contender.result())
            answer(True)


if __name__ == "__main__":
    main()
