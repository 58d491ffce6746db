"""Calls each function of asserts.mlir with a good and a bad argument: the numbers that
come back, and their texts; then many bad calls, after which no memory may be gone."""

import ctypes
import sys

library = ctypes.CDLL(sys.argv[1])


def call(name, value):
    x = ctypes.c_int64(value)
    result = ctypes.c_int64()
    return getattr(library, name)(ctypes.byref(x), ctypes.byref(result))


def text(name, code):
    function = getattr(library, f"fastk_error_{name}")
    function.restype = ctypes.c_char_p
    return function(code).decode()


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096


for name in ("top", "branch", "loop", "body", "threads"):
    for value in (5, -1):
        code = call(name, value)
        print(name, value, code, repr(text(name, code)))
print("unknown", repr(text("top", 1000)))

before = resident()
for _ in range(200):
    call("threads", -1)
    for name in ("branch", "loop"):
        call(name, -1)
lost = resident() - before
# One call of @threads takes 2.4 MB.
print("kept", 0 if lost < 1 << 23 else lost, "bytes")
