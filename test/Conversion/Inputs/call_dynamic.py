"""Calls the functions of dynamic_shapes.mlir as a C program would."""

import ctypes

from dynamic_library import Result, call, floats, libc, library, sizes


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096


print((ctypes.c_char * 200).in_dll(library, "fastk_signature_twice").value.decode())
for rows, columns in ((3, 4), (0, 4), (3, 5), (-1, 4)):
    result, total = Result(2), ctypes.c_float(-1)
    code, text = call("twice", floats(list(range(12))), sizes(rows, columns),
                      *result.arguments, ctypes.byref(total))  # fmt: skip
    print("twice", code, *(result.take() if code == 0 else [text]), *[total.value] * (not code))
for count in (3, 1 << 60):
    result = Result(1)
    code, text = call("first", ctypes.byref(ctypes.c_int64(count)), *result.arguments)
    print("first", code, *(result.take() if code == 0 else [text]))
result = Result(1)
code, text = call("grown", floats([0, 1, 2, 3]), sizes(4), *result.arguments)
print("grown", code, *(result.take() if code == 0 else [text]))
a, b = Result(2), Result(2)
code, text = call("same", floats(list(range(8))), sizes(2, 4), *a.arguments, *b.arguments)
apart = a.memory.value != b.memory.value
assert a.take() == (values := b.take())
print("same", code, apart, *values)

many = floats([1.0] * 400000)
for turn in range(120):
    if turn == 20:  # by then heaps and threads have what they keep
        before = resident()
    result, total = Result(2), ctypes.c_float()
    assert call("twice", many, sizes(100000, 4), *result.arguments, ctypes.byref(total))[0] == 0
    libc.free(result.memory)
    assert call("twice", many, sizes(100000, 5), *result.arguments, ctypes.byref(total))[0]
    result = Result(1)
    assert call("grown", many, sizes(400000), *result.arguments)[0] == 0
    libc.free(result.memory)
lost = resident() - before
print("kept", 0 if lost < 1 << 23 else lost, "bytes")
