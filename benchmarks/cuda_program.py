# ===- cuda_program.py - A GPU program and its plan, from Python -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Launches what `fastk-opt --compile-kernel --target=cuda:...` wrote to a folder.

A folder holds plan.json (docs/formats/plan.md) and kernel.cubin, kernel.ptx or
kernel.cu. CUDA-C is compiled by NVRTC with fastk's prelude, as the worker does. For
benchmarks that run beside torch in one process; the judge of kernels is the worker.
"""

import ctypes
import glob
import json
import os
import pathlib
import re

PRELUDE = (
    pathlib.Path(__file__).resolve().parents[1] / "lib/Cuda/Prelude/fastk_prelude.cuh"
)
#: CUtensorMapDataType, the sizes of swizzles and promotions as the driver numbers them.
MAP_TYPES = {
    "u8": 0, "u16": 1, "u32": 2, "i32": 3, "u64": 4, "i64": 5, "f16": 6, "f32": 7,
    "f64": 8, "bf16": 9, "tf32": 11,
}  # fmt: skip
INTERLEAVES = {"none": 0, "16B": 1, "32B": 2}
SWIZZLES = {"none": 0, "32B": 1, "64B": 2, "128B": 3}
PROMOTIONS = {"none": 0, "64B": 1, "128B": 2, "256B": 3}
FILLS = {"zero": 0, "nan": 1}
SCALARS = {
    "i32": ctypes.c_int32,
    "i64": ctypes.c_int64,
    "f32": ctypes.c_float,
    "f64": ctypes.c_double,
}
#: CUlaunchAttributeID.
COOPERATIVE, CLUSTER_DIMENSION, STREAM_SERIALIZATION = 2, 4, 6
#: CUfunction_attribute.
MAX_DYNAMIC_SHARED = 8


class CudaError(Exception):
    """The driver or NVRTC refused; the message says what and why."""


def load_nvrtc():
    """NVRTC, and the folder of its headers."""
    folders = [
        os.environ.get("FASTK_CUDA_PATH", "") + "/lib64",
        "/usr/local/cuda/lib64",
        *glob.glob("/usr/local/cuda-1[3-9]*/lib64"),
    ]
    for folder in folders:
        library = sorted(glob.glob(folder + "/libnvrtc.so.1[2-9]"))
        if library:
            for builtins in glob.glob(folder + "/libnvrtc-builtins.so.*"):
                ctypes.CDLL(builtins, mode=ctypes.RTLD_GLOBAL)
            return ctypes.CDLL(library[-1]), pathlib.Path(folder).parent / "include"
    raise CudaError("no NVRTC: set FASTK_CUDA_PATH to a CUDA of version 12.4 or later")


def compile_cuda(source, arch):
    """CUDA-C to a cubin."""
    nvrtc, include = load_nvrtc()
    prelude = re.sub(r"(?m)^#pragma once$", "", PRELUDE.read_text())
    program = ctypes.c_void_p()
    text = prelude + '\n#line 1 "kernel.cu"\n' + source
    nvrtc.nvrtcCreateProgram(
        ctypes.byref(program), text.encode(), b"kernel.cu", 0, None, None
    )
    options = [f"-arch={arch}".encode(), b"-std=c++17", b"-default-device"]
    options.append(f"--include-path={include}".encode())
    result = nvrtc.nvrtcCompileProgram(
        program, len(options), (ctypes.c_char_p * len(options))(*options)
    )
    size = ctypes.c_size_t()
    if result:
        nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
        log = ctypes.create_string_buffer(size.value)
        nvrtc.nvrtcGetProgramLog(program, log)
        raise CudaError("kernel.cu does not compile: " + log.value.decode()[-2000:])
    nvrtc.nvrtcGetCUBINSize(program, ctypes.byref(size))
    cubin = ctypes.create_string_buffer(size.value)
    nvrtc.nvrtcGetCUBIN(program, cubin)
    return cubin.raw


class LaunchConfig(ctypes.Structure):
    """CUlaunchConfig."""

    _fields_ = [
        ("grid", ctypes.c_uint * 3),
        ("block", ctypes.c_uint * 3),
        ("shared_bytes", ctypes.c_uint),
        ("stream", ctypes.c_void_p),
        ("attributes", ctypes.c_void_p),
        ("attribute_count", ctypes.c_uint),
    ]


class LaunchAttribute(ctypes.Structure):
    """CUlaunchAttribute: an id, and 64 bytes of value 8 bytes behind it."""

    _fields_ = [
        ("id", ctypes.c_int),
        ("padding", ctypes.c_char * 4),
        ("value", ctypes.c_int * 16),
    ]


class Program:
    """A loaded program. A CUDA context must be current (torch makes one)."""

    def __init__(self, folder, arch="sm_90a"):
        folder = pathlib.Path(folder)
        self.driver = ctypes.CDLL("libcuda.so.1")
        self.plan = json.loads((folder / "plan.json").read_text())
        if (folder / "kernel.cubin").exists():
            code = (folder / "kernel.cubin").read_bytes()
        elif (folder / "kernel.ptx").exists():
            code = (folder / "kernel.ptx").read_bytes() + b"\0"
        else:
            code = compile_cuda((folder / "kernel.cu").read_text(), arch)
        self.module = ctypes.c_void_p()
        self.check(
            self.driver.cuModuleLoadData(ctypes.byref(self.module), code), "load"
        )
        self.functions = {}
        for step in self.launches():
            name = step["launch"]
            function = ctypes.c_void_p()
            self.check(
                self.driver.cuModuleGetFunction(
                    ctypes.byref(function), self.module, name.encode()
                ),
                name,
            )
            self.functions[name] = function
            shared = step.get("shared_bytes", 0)
            if shared > 48 * 1024:
                self.check(
                    self.driver.cuFuncSetAttribute(
                        function, MAX_DYNAMIC_SHARED, shared
                    ),
                    f"{shared} bytes of shared memory",
                )

    def launches(self):
        return [step for step in self.plan["steps"] if "launch" in step]

    def workspace_bytes(self):
        return [each["bytes"] for each in self.plan.get("workspaces", [])]

    def check(self, result, what):
        if result:
            text = ctypes.c_char_p()
            self.driver.cuGetErrorString(result, ctypes.byref(text))
            raise CudaError(f"{what}: {text.value.decode() if text.value else result}")

    def bind(self, inputs, outputs, workspaces):
        """From addresses to a function that enqueues the steps on a stream."""
        buffers = {
            f"{prefix}{index}": address
            for prefix, group in (
                ("in", inputs),
                ("out", outputs),
                ("ws", workspaces),
            )
            for index, address in enumerate(group)
        }

        def place(text):
            name, _, offset = text.partition("+")
            return buffers[name] + int(offset or 0)

        maps = [
            self.encode(each, place(each["buffer"]))
            for each in self.plan.get("tensor_maps", [])
        ]
        steps = [
            self.memset(buffers[f"ws{index}"], each["bytes"], 0)
            for index, each in enumerate(self.plan.get("workspaces", []))
            if each.get("zero")
        ]
        for step in self.plan["steps"]:
            if "memset" in step:
                steps.append(
                    self.memset(
                        place(step["memset"]), step["bytes"], step.get("value", 0)
                    )
                )
            else:
                steps.append(self.launch(step, place, maps))

        def run(stream):
            for step in steps:
                step(stream)

        return run

    def memset(self, address, count, value):
        def run(stream):
            self.check(
                self.driver.cuMemsetD8Async(
                    ctypes.c_uint64(address),
                    ctypes.c_ubyte(value),
                    ctypes.c_size_t(count),
                    ctypes.c_void_p(stream),
                ),
                "memset",
            )

        return run

    def encode(self, description, address):
        """A tensor map, 64-byte aligned; the buffer behind it comes along."""
        storage = ctypes.create_string_buffer(128 + 64)
        place = (ctypes.addressof(storage) + 63) & ~63
        dims = description["dims"]
        rank = len(dims)
        strides = description.get("strides", [])
        self.check(
            self.driver.cuTensorMapEncodeTiled(
                ctypes.c_void_p(place),
                MAP_TYPES[description["type"]],
                rank,
                ctypes.c_void_p(address),
                (ctypes.c_uint64 * rank)(*dims),
                (ctypes.c_uint64 * max(1, rank - 1))(*strides),
                (ctypes.c_uint32 * rank)(*description["box"]),
                (ctypes.c_uint32 * rank)(
                    *description.get("element_strides", [1] * rank)
                ),
                INTERLEAVES[description.get("interleave", "none")],
                SWIZZLES[description.get("swizzle", "none")],
                PROMOTIONS[description.get("l2_promotion", "none")],
                FILLS[description.get("oob_fill", "zero")],
            ),
            "tensor map",
        )
        return storage, place

    def launch(self, step, place, maps):
        values = []
        for argument in step["arguments"]:
            if isinstance(argument, dict):
                ((kind, value),) = argument.items()
                values.append(SCALARS[kind](value))
            elif argument.startswith("map"):
                values.append(maps[int(argument[3:])])
            else:
                values.append(ctypes.c_uint64(place(argument)))
        pointers = (ctypes.c_void_p * max(1, len(values)))(
            *[
                value[1] if isinstance(value, tuple) else ctypes.addressof(value)
                for value in values
            ]
        )
        chosen = []
        if step.get("cluster"):
            chosen.append((CLUSTER_DIMENSION, (step["cluster"] + [1, 1])[:3]))
        if step.get("cooperative"):
            chosen.append((COOPERATIVE, [1]))
        if step.get("overlaps_previous"):
            chosen.append((STREAM_SERIALIZATION, [1]))
        attributes = (LaunchAttribute * max(1, len(chosen)))()
        for attribute, (number, value) in zip(attributes, chosen):
            attribute.id = number
            attribute.value[: len(value)] = value
        config = LaunchConfig(
            grid=(ctypes.c_uint * 3)(*(step["grid"] + [1, 1])[:3]),
            block=(ctypes.c_uint * 3)(*(step["block"] + [1, 1])[:3]),
            shared_bytes=step.get("shared_bytes", 0),
            attributes=ctypes.addressof(attributes),
            attribute_count=len(chosen),
        )
        function = self.functions[step["launch"]]
        kept = (values, attributes, maps)

        def run(stream, kept=kept):
            config.stream = stream
            self.check(
                self.driver.cuLaunchKernelEx(
                    ctypes.byref(config), function, pointers, None
                ),
                step["launch"],
            )

        return run
