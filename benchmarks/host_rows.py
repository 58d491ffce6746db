# ===- host_rows.py - Reductions of rows as text for host_stages.py -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Softmax, norms and sums of any size as MLIR, as an importer gives them."""

KINDS = ("softmax", "logsoftmax", "layernorm", "rmsnorm", "sum", "max")


class Function:
    """The function of rows of R x C, or of the middle of R x C x B, as it grows."""

    def __init__(self, kind, sizes, element):
        self.element = element
        rows, columns = sizes[0], sizes[1]
        is_middle = len(sizes) == 3
        dims = "(a, b, i)" if is_middle else "(a, b)"
        kept = ["parallel", "reduction"] + ["parallel"] * is_middle
        self.reduced = "[" + ", ".join(f'"{each}"' for each in kept) + "]"
        self.parallel = "[" + ", ".join(['"parallel"'] * len(kept)) + "]"
        shape = "x".join(map(str, sizes))
        row_shape = f"{rows}x{sizes[2]}" if is_middle else f"{rows}"
        self.input, self.wide = f"tensor<{shape}x{element}>", f"tensor<{shape}xf32>"
        self.rows, self.weights = f"tensor<{row_shape}xf32>", f"tensor<{columns}xf32>"
        self.types = {"x": (self.input, "id", element), "g": (self.weights, "column", "f32")}
        self.types["h"] = self.types["g"]
        arguments = f"%x: {self.input}"
        if kind in ("layernorm", "rmsnorm"):
            arguments += f", %g: {self.weights}, %h: {self.weights}"
        result = self.rows if kind in ("sum", "max") else self.input
        self.text = f"""#id = affine_map<{dims} -> {dims}>
#row = affine_map<{dims} -> {"(a, i)" if is_middle else "(a)"}>
#column = affine_map<{dims} -> (b)>
func.func @f({arguments}) -> {result} {{
  %zero = arith.constant 0.0 : f32
  %none = arith.constant 0xFF800000 : f32
  %inverse = arith.constant {1.0 / columns:.9e} : f32
  %least = arith.constant 1.0e-5 : f32
  %empty_rows = tensor.empty() : {self.rows}
  %empty_wide = tensor.empty() : {self.wide}
  %empty_out = tensor.empty() : {self.input}
  %zeros = linalg.fill ins(%zero : f32) outs(%empty_rows : {self.rows}) -> {self.rows}
  %nones = linalg.fill ins(%none : f32) outs(%empty_rows : {self.rows}) -> {self.rows}
"""

    def generic(self, name, operands, body, made):
        """An op of operands by name, whose elements are %NAME_."""
        loops, result, init, map_name, element = made
        inputs = ", ".join(f"%{each}" for each in operands)
        types = ", ".join(self.types[each][0] for each in operands)
        maps = ", ".join(f"#{self.types[each][1]}" for each in operands)
        arguments, wide = "", ""
        for each in operands:
            is_half = self.types[each][2] == "f16"
            arguments += f"%{each}_{'half' if is_half else ''}: {self.types[each][2]}, "
            if is_half:
                wide += f"    %{each}_ = arith.extf %{each}_half : f16 to f32\n"
        lines = "".join(f"    {line} : f32\n" for line in body)
        value = f"    linalg.yield %v : {element}\n"
        if element == "f16":
            value = "    %n = arith.truncf %v : f32 to f16\n    linalg.yield %n : f16\n"
        self.text += (
            f"  %{name} = linalg.generic {{indexing_maps = [{maps}, #{map_name}], iterator_types = {loops}}} "
            f"ins({inputs} : {types}) outs(%{init} : {result}) {{\n  ^bb0({arguments}%o: {element}):\n"
            f"{wide}{lines}{value}  }} -> {result}\n"
        )
        self.types[name] = (result, map_name, element)

    def reduce(self, name, operands, body, init="zeros"):
        self.generic(name, operands, body, (self.reduced, self.rows, init, "row", "f32"))

    def compute(self, name, operands, body):
        self.generic(name, operands, body, (self.parallel, self.wide, "empty_wide", "id", "f32"))

    def finish(self, operands, body):
        self.generic(
            "y", operands, body, (self.parallel, self.input, "empty_out", "id", self.element)
        )
        return self.end("y")

    def end(self, name):
        return f"{self.text}  return %{name} : {self.types[name][0]}\n}}\n"


def root_of(name):
    return [
        f"%a = arith.mulf %{name}_, %inverse",
        "%b = arith.addf %a, %least",
        "%r = math.rsqrt %b",
    ]


def text(kind, sizes, element):
    """The MLIR of one function."""
    f = Function(kind, sizes, element)
    if kind == "sum":
        f.reduce("s", ["x"], ["%v = arith.addf %o, %x_"])
        return f.end("s")
    if kind == "rmsnorm":
        f.reduce("s", ["x"], ["%q = arith.mulf %x_, %x_", "%v = arith.addf %o, %q"])
        return f.finish(
            ["x", "s", "g"], [*root_of("s"), "%c = arith.mulf %x_, %r", "%v = arith.mulf %c, %g_"]
        )
    if kind == "layernorm":
        off = ["%m = arith.mulf %s_, %inverse", "%d = arith.subf %x_, %m"]
        f.reduce("s", ["x"], ["%v = arith.addf %o, %x_"])
        f.reduce("t", ["x", "s"], [*off, "%q = arith.mulf %d, %d", "%v = arith.addf %o, %q"])
        tail = ["%c = arith.mulf %d, %r", "%e = arith.mulf %c, %g_", "%v = arith.addf %e, %h_"]
        return f.finish(["x", "s", "t", "g", "h"], [*off, *root_of("t"), *tail])
    f.reduce("m", ["x"], ["%v = arith.maximumf %o, %x_"], "nones")
    if kind == "max":
        return f.end("m")
    f.compute("d", ["x", "m"], ["%v = arith.subf %x_, %m_"])
    f.compute("e", ["d"], ["%v = math.exp %d_"])
    f.reduce("s", ["e"], ["%v = arith.addf %o, %e_"])
    if kind == "softmax":
        return f.finish(["e", "s"], ["%v = arith.divf %e_, %s_"])
    return f.finish(["d", "s"], ["%l = math.log %s_", "%v = arith.subf %d_, %l"])
