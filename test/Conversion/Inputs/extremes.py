"""Extremes of floats that are equal, zeros of both signs, infinite or no numbers, without numpy.

    extremes.py draw FILE.npy SIZE...
    extremes.py windows IN.npy OUT.npy WINDOW STRIDE    the largest of each window, in all dimensions but the first two
    extremes.py most IN.npy OUT.npy PLACES.npy          the largest of each row and where it is, before there was a NaN
    extremes.py least IN.npy OUT.npy PLACES.npy         the smallest

What is told is the first difference; NaN is NaN, all else has to have the same bits.
"""
import itertools
import math
import random
import struct
import sys

INFINITY, NAN = math.inf, math.nan
# What each slice along the first dimension is drawn from, in turns.
KINDS = [
    [-3.0, -2.0, -1.0],
    [0.0, -0.0],
    [0.0, -0.0, -1.0, -2.0],
    [-INFINITY],
    [-INFINITY, -INFINITY, -INFINITY, 1.0, INFINITY],
    [1.0, 2.0] * 20 + [NAN],
    [NAN, -INFINITY, INFINITY],
    [NAN],
]


def draw_slice(number, count):
    if number < len(KINDS):
        return [random.choice(KINDS[number]) for _ in range(count)]
    values = [random.gauss(0, 1) for _ in range(count)]
    kind = number % 5
    if kind == 0:
        values[count * 3 // 5] = NAN
    elif kind == 1:
        values.sort()
    elif kind == 2:
        # The first of these is what counts.
        values[count // 2] = values[count - 2] = values[count - 1] = 9.0
        values[count // 3] = values[2] = -9.0
    elif kind == 3:
        # One zero is the larger, though equal, and comes in another piece.
        values = [-0.0] * (count - 1) + [0.0]
    return values


def draw(path, shape):
    random.seed(len(shape))
    each = math.prod(shape[1:])
    values = [value for n in range(shape[0]) for value in draw_slice(n, each)]
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {tuple(shape)}, }}"
    header = header.ljust(117) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
        file.write(struct.pack(f"<{len(values)}f", *values))


def read(path):
    """The shape and the values of an .npy file."""
    data = open(path, "rb").read()
    start = 10 + int.from_bytes(data[8:10], "little")
    header = eval(data[10:start])
    code = {"<f4": "f", "<i8": "q", "<i4": "i"}[header["descr"]]
    count = math.prod(header["shape"])
    return header["shape"], struct.unpack(f"<{count}{code}", data[start:])


def larger(a, b):
    if a != a or b != b:
        return NAN
    if a == b:
        return a if math.copysign(1, a) > 0 else b
    return max(a, b)


def windows(shape, values, window, stride):
    sizes = shape[2:]
    each = math.prod(sizes)
    steps = [math.prod(sizes[i + 1:]) for i in range(len(sizes))]
    offsets = [sum(k * step for k, step in zip(place, steps))
               for place in itertools.product(range(window), repeat=len(sizes))]
    starts = [sum(k * stride * step for k, step in zip(place, steps))
              for place in itertools.product(*(range((size - window) // stride + 1) for size in sizes))]
    for image in range(shape[0] * shape[1]):
        for start in starts:
            most = -INFINITY
            for offset in offsets:
                most = larger(most, values[image * each + start + offset])
            yield most


def places(shape, values, sign):
    """The extreme of each row, and its place: of equal ones the first."""
    extremes, where = [], []
    for row in range(math.prod(shape[:-1])):
        most, place = -INFINITY, 0
        for i, value in enumerate(values[row * shape[-1]:(row + 1) * shape[-1]]):
            if sign * value > most:
                place = i
            most = larger(sign * value, most)
        extremes.append(sign * most)
        where.append(place)
    return extremes, where


def compare(got, want):
    if len(got) != len(want):
        sys.exit(f"{len(got)} values, not {len(want)}")
    for place, (a, b) in enumerate(zip(got, want)):
        if not (a != a and b != b) and (a != b or math.copysign(1, a) != math.copysign(1, b)):
            sys.exit(f"element {place} is {a}, not {b}")
    print(f"all {len(got)} values are right")


if sys.argv[1] == "draw":
    draw(sys.argv[2], [int(size) for size in sys.argv[3:]])
elif sys.argv[1] in ("most", "least"):
    wanted = places(*read(sys.argv[2]), 1 if sys.argv[1] == "most" else -1)
    compare(read(sys.argv[3])[1], wanted[0])
    compare(read(sys.argv[4])[1], wanted[1])
elif sys.argv[1] == "windows":
    compare(read(sys.argv[3])[1], list(windows(*read(sys.argv[2]), *map(int, sys.argv[4:]))))
