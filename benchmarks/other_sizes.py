# ===- other_sizes.py - KernelBench's problems at other sizes -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Writes problems of KernelBench with other sizes, which nobody has tuned for.

    python3 benchmarks/other_sizes.py LEVEL OTHER [--seed=0]

LEVEL is a folder of problems, as KernelBench/KernelBench/level1; OTHER gets a file of the
same name for each. Sizes are what a module assigns to names: batches become a quarter to
seven tenths of what they were, channels, features and extents 0.4 to 1.1 of it, as odd
as they come or multiples of 2 to 32. Windows, strides, groups, heads and whatever is
below 16 stay. A problem whose sizes no longer fit each other is left so: its import
says so.
"""

import argparse
import ast
import pathlib
import random

#: Names of what stays, as other sizes must fit it.
KEPT = ("group", "kernel", "stride", "padding", "head", "num_layers", "factor", "dilation")
#: Names of what must be multiples of groups and heads.
DIVIDED = ("group", "heads", "scale_factor", "upscale_factor")
#: Smaller ones are few channels or windows.
LEAST = 16


def int_of(node):
    """The integer that a constant expression is; None of anything else."""
    try:
        value = eval(compile(ast.Expression(node), "size", "eval"), {"__builtins__": {}})
    except (NameError, TypeError, AttributeError, ZeroDivisionError):
        return None
    return value if type(value) is int else None


def assignments(tree):
    for statement in tree.body:
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            yield statement.targets[0].id, statement


def other(name, size, draw, divisor):
    """Another size for `name`, drawn by `draw`."""
    if "batch" in name:
        return max(1, int(size * draw.choice([0.25, 0.5, 0.4, 0.7])))
    if size < LEAST or any(word in name for word in KEPT):
        return size
    found = max(2, int(size * draw.uniform(0.4, 1.1)))
    multiple = draw.choice([1, 2, 4, 8, 16, 16, 32])
    if any(word in name for word in ("channel", "features", "dim", "size")):
        multiple = max(divisor, draw.choice([1, 4, 8, 16, 16]))
        multiple -= multiple % divisor
    found = max(multiple, found - found % multiple)
    return found if found != size else max(multiple, found - multiple)


def with_other_size(name, node, draw, divisor):
    """The expression assigned to `name`, with another size if it is one."""
    size = int_of(node)
    return node if size is None else ast.Constant(other(name, size, draw, divisor))


def with_other_sizes(text, draw):
    """The module `text` with other sizes."""
    tree = ast.parse(text)
    divisor = max(
        [1]
        + [
            int_of(statement.value) or 1
            for name, statement in assignments(tree)
            if any(word in name for word in DIVIDED)
        ]
    )
    for name, statement in assignments(tree):
        if isinstance(statement.value, ast.Tuple):
            statement.value.elts = [
                with_other_size(name, element, draw, 1) for element in statement.value.elts
            ]
        else:
            statement.value = with_other_size(name, statement.value, draw, divisor)
    return ast.unparse(tree) + "\n"


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("level", type=pathlib.Path, metavar="LEVEL")
    parser.add_argument("other", type=pathlib.Path, metavar="OTHER")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    problems = sorted(options.level.glob("*.py"))
    if not problems:
        parser.error(f"{options.level} has no problems: name a folder as KernelBench/KernelBench/level1")
    options.other.mkdir(parents=True, exist_ok=True)
    for problem in problems:
        draw = random.Random(f"{options.seed}{problem.name}")
        written = with_other_sizes(problem.read_text(), draw)
        (options.other / problem.name).write_text(written)


if __name__ == "__main__":
    main()
