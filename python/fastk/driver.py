# ===- driver.py - NVIDIA's driver -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""The calls of NVIDIA's driver that move memory, for programs without torch."""

import ctypes

__all__ = ["Driver", "DriverError"]


class DriverError(Exception):
    """A call of the driver failed, or there is none."""


class Driver:
    """`driver("cuMemFree_v2", address)` calls a function; a failure is a DriverError."""

    def __init__(self):
        try:
            self.library = ctypes.CDLL("libcuda.so.1")
        except OSError as error:
            raise DriverError(f"there is no driver of a GPU: {error}") from None

    def __call__(self, name, *arguments):
        if code := getattr(self.library, name)(*arguments):
            text = ctypes.c_char_p()
            self.library.cuGetErrorName(code, ctypes.byref(text))
            raise DriverError(f"{name}: {(text.value or b'?').decode()}")

    def describe(self):
        """The current context's GPU, and the driver's version of CUDA."""
        device, version = ctypes.c_int(), ctypes.c_int()
        name = ctypes.create_string_buffer(256)
        self("cuCtxGetDevice", ctypes.byref(device))
        self("cuDeviceGetName", name, len(name), device)
        self("cuDriverGetVersion", ctypes.byref(version))
        return f"{name.value.decode()}, CUDA {version.value // 1000}"
