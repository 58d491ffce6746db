"""Prints the elements of .npy files, one file a line: print_npy.py FILE..."""

import ast
import struct
import sys

CODES = {"f8": "d", "f4": "f", "f2": "e", "i8": "q", "i4": "i", "i2": "h", "i1": "b",
         "b1": "?", "c8": "ff", "c16": "dd"}  # fmt: skip

for path in sys.argv[1:]:
    with open(path, "rb") as file:
        data = file.read()
    length = struct.unpack("<H", data[8:10])[0]
    header = ast.literal_eval(data[10 : 10 + length].decode())
    code = CODES[header["descr"][1:]]
    values = [
        complex(*each) if len(code) == 2 else each[0]
        for each in struct.iter_unpack("<" + code, data[10 + length :])
    ]
    print(header["shape"], values if len(values) <= 64 else values[:4] + values[-4:])
