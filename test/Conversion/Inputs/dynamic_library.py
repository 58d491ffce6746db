"""Functions of a library with results of dynamic shape, called as a C program would."""

import ctypes
import sys

library = ctypes.CDLL(sys.argv[1])
libc = ctypes.CDLL(None)
libc.free.argtypes = [ctypes.c_void_p]


def floats(values):
    return (ctypes.c_float * max(len(values), 1))(*values)


def sizes(*values):
    return (ctypes.c_int64 * len(values))(*values)


class Result:
    """A result of dynamic shape."""

    def __init__(self, rank):
        self.memory = ctypes.c_void_p()
        self.shape = sizes(*[-7] * rank)
        self.arguments = [ctypes.byref(self.memory), self.shape]

    def take(self):
        count = 1
        for size in self.shape:
            count *= size
        values = list((ctypes.c_float * count).from_address(self.memory.value))
        libc.free(self.memory)
        return tuple(self.shape), values


def call(name, *arguments):
    code = getattr(library, name)(*arguments)
    text = getattr(library, f"fastk_error_{name}")
    text.restype = ctypes.c_char_p
    return code, text(code).decode()
