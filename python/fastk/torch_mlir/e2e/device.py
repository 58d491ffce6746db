# ===- device.py - Runs packed tests on a GPU, in this process -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Runs packed tests where the GPU is: needs Python and NVIDIA's driver.

A worker: `python -m fastk.torch_mlir.e2e.device FOLDER` reads names of tests, a line
each, writes each one's result and says its name. After an error of the GPU it ends, for
then nothing works in its process any more.
"""

import ctypes
import os
import sys
import tempfile
import time

from ...driver import Driver, DriverError
from .pack import Pack, PackError, Result

#: Of a buffer, as the libraries ask for.
_ALIGNMENT = 256

#: Bytes of an element; a bool is a byte.
_BYTES = {
    "i1": 1, "i8": 1, "i16": 2, "f16": 2, "bf16": 2, "i32": 4, "f32": 4,
    "i64": 8, "f64": 8, "complex<f32>": 8, "complex<f64>": 16,
}  # fmt: skip


class Failure(Exception):
    """A test that could not be run; `ends` where nothing else can be, either."""

    def __init__(self, message, ends=False):
        super().__init__(message)
        self.ends = ends


class Function:
    """A function of a library, which a test calls once."""

    def __init__(self, call):
        self.call = call
        with tempfile.NamedTemporaryFile(prefix="fastk-", suffix=".so") as file:
            file.write(call.library)
            file.flush()
            try:
                self.library = ctypes.CDLL(file.name)
            except OSError as error:
                raise Failure(f"the library does not load: {error}") from None
        self.library.fastk_last_error.restype = ctypes.c_char_p

    def _do(self, symbol, *arguments):
        self.library.fastk_clear_error()
        if getattr(self.library, symbol)(*arguments):
            raise Failure(self.library.fastk_last_error().decode(errors="replace"))

    def prepare(self):
        """Loads the code; makes the GPU's context where there is none."""
        self._do(f"fastk_prepare_{self.call.function}")

    def run(self, addresses):
        name = self.call.function
        packed = f"fastk_packed_{name}"
        if not hasattr(self.library, packed):
            packed = f"{name}_packed"
        self._do(packed, (ctypes.c_void_p * len(addresses))(*addresses))

    def release(self):
        getattr(self.library, f"fastk_release_{self.call.function}")()


class Buffers:
    """Inputs and outputs in one piece of the GPU's memory."""

    def __init__(self, driver, inputs, sizes):
        self.driver, self.sizes = driver, sizes
        self.offsets, end = [], 0
        for size in (*map(len, inputs), *sizes):
            self.offsets.append(end)
            end += -(-size // _ALIGNMENT) * _ALIGNMENT
        # What nothing writes is NaN, or -1.
        self.host = bytearray(b"\xff") * max(end, 1)
        for offset, data in zip(self.offsets, inputs):
            self.host[offset : offset + len(data)] = data
        self.address = ctypes.c_uint64()
        driver("cuMemAlloc_v2", ctypes.byref(self.address), self._size())
        driver("cuMemcpyHtoD_v2", self.address, self._memory(), self._size())

    def _size(self):
        return ctypes.c_size_t(len(self.host))

    def _memory(self):
        return (ctypes.c_char * len(self.host)).from_buffer(self.host)

    def addresses(self):
        return [self.address.value + offset for offset in self.offsets]

    def outputs(self):
        """Waits for the GPU; the bytes of each output."""
        self.driver("cuCtxSynchronize")
        self.driver("cuMemcpyDtoH_v2", self._memory(), self.address, self._size())
        first = len(self.offsets) - len(self.sizes)
        return [
            bytes(self.host[offset : offset + size])
            for offset, size in zip(self.offsets[first:], self.sizes)
        ]

    def free(self):
        self.driver("cuMemFree_v2", self.address)


def size_of(want):
    count = _BYTES[want["dtype"]]
    for size in want["shape"]:
        count *= size
    return count


def run_call(driver, call):
    """The outputs of one call."""
    function = Function(call)
    function.prepare()
    try:
        sizes = [size_of(want) for want in call.signature["outputs"]]
        buffers = Buffers(driver, call.inputs, sizes)
        function.run(buffers.addresses())
        outputs = buffers.outputs()
        buffers.free()
    except DriverError as error:
        raise Failure(str(error), ends=True) from None
    function.release()
    return outputs


def run_test(pack, driver, name):
    """Writes the result of a test; raises Failure where the process must end."""
    start, result, ends = time.monotonic(), Result("ok", pack=pack.digest(name)), False
    try:
        for call in pack.read_test(name):
            result.outputs.append(run_call(driver, call))
        result.machine = driver.describe()
    except (Failure, PackError, DriverError) as error:
        result.status, result.reason = "fail", " ".join(str(error).split())
        ends = getattr(error, "ends", True)
    result.seconds = round(time.monotonic() - start, 3)
    pack.write_result(name, result)
    return not ends


def main(folder):
    pack = Pack(folder)
    ctypes.CDLL(os.path.abspath(pack.runtime), mode=ctypes.RTLD_GLOBAL)
    driver = Driver()
    for line in sys.stdin:
        goes_on = run_test(pack, driver, line.strip())
        print(line.strip(), flush=True)
        if not goes_on:
            # Destructors would talk to a GPU that no longer answers.
            os._exit(1)


if __name__ == "__main__":
    main(sys.argv[1])
