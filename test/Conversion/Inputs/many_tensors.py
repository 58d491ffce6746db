"""Writes a model of very many tensors, as an unrolled recurrence makes them.

many_tensors.py concat COUNT: COUNT results of exp, one behind the other; and of
all of these, read one by one, the last first.
many_tensors.py sum COUNT: the sum of COUNT arguments, one addition each.
"""

import sys

kind, count = sys.argv[1], int(sys.argv[2])
part, numbers = "tensor<2x8xf32>", range(count)
arguments = ", ".join(f"%x{i}: {part}" for i in numbers)
result = f"tensor<{2 * count}x8xf32>" if kind == "concat" else part
results = f"({result}, {result})" if kind == "concat" else result
lines = [f"func.func @forward({arguments}) -> {results} {{"]
lines.append(f"  %empty = tensor.empty() : {part}")
for i in numbers:
    if kind == "concat":
        lines.append(
            f"  %y{i} = linalg.exp ins(%x{i} : {part}) outs(%empty : {part}) -> {part}"
        )
    elif i > 0:
        before = f"%y{i - 1}" if i > 1 else "%x0"
        lines.append(
            f"  %y{i} = linalg.add ins({before}, %x{i} : {part}, {part}) "
            f"outs(%empty : {part}) -> {part}"
        )
if kind == "concat":
    names = ", ".join(f"%y{i}" for i in numbers)
    types = ", ".join([part] * count)
    lines.append(f"  %all = tensor.concat dim(0) {names} : ({types}) -> {result}")
    for i in numbers:
        slice = f"[{2 * i}, 0] [2, 8] [1, 1] : {result} to {part}"
        lines.append(f"  %s{i} = tensor.extract_slice %all{slice}")
        lines.append(
            f"  %z{i} = linalg.exp ins(%s{i} : {part}) outs(%empty : {part}) -> {part}"
        )
    names = ", ".join(f"%z{i}" for i in reversed(numbers))
    lines.append(f"  %turned = tensor.concat dim(0) {names} : ({types}) -> {result}")
    lines.append(f"  return %all, %turned : {result}, {result}")
else:
    lines.append(f"  return %y{count - 1} : {result}")
lines.append("}")
print("\n".join(lines))
