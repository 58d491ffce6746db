"""Whether all elements of an .npy file have the bytes HEX: one_value.py FILE HEX."""
import sys

data = open(sys.argv[1], "rb").read()
data = data[10 + int.from_bytes(data[8:10], "little"):]
value = bytes.fromhex(sys.argv[2])
count = len(data) // len(value)
if not data or data != value * count:
    sys.exit(f"{sys.argv[1]}: the first elements are {data[:4 * len(value)].hex()}, not {sys.argv[2]}")
