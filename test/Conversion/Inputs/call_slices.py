"""Calls the functions of dynamic_slices.mlir with sizes in a tensor."""

import ctypes

from dynamic_library import Result, call, floats, sizes

VALUES = floats(list(range(12)))


def number(value):
    return ctypes.byref(ctypes.c_int64(value))


for name, rank, values in [
    ("rows", 2, (0, 2, 4)),
    ("columns", 2, (0, 2, 3)),
    ("after", 2, (1,)),
    ("steps", 2, (2,)),
    ("flat", 1, (2,)),
    ("line", 1, (2,)),
    ("written", 2, (1,)),
]:
    for value in values:
        result = Result(rank)
        code, text = call(name, VALUES, number(value), *result.arguments)
        print(name, *(result.take() if code == 0 else [text]))
for value in (2, 4):
    result = Result(2)
    code, text = call("wide", VALUES, sizes(3, 4), number(value), *result.arguments)
    print("wide", *(result.take() if code == 0 else [text]))
