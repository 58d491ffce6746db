# ===- definitions.py - Workloads and honest programs for them -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Small workloads, each as linalg and as programs that Python runs.

A `Definition` writes itself as a function in linalg, for the compiler, and is
evaluated by an `Arithmetic`: exactly, with roundings as an honest kernel makes
them, or with the condition of each element by the text of docs/validation.md. No
arithmetic here knows anything of the compiler's.
"""

import functools
import math

import numpy
import torch

#: Round-off of f32, largest and smallest normal number.
UNIT, LARGEST, SMALLEST = 2.0**-24, 3.4028234663852886e38, 2.0**-126

#: Round-off, half of the last subnormal place, largest number of narrow types.
NARROW = {
    "f16": (2.0**-11, 2.0**-25, 65504.0, torch.float16),
    "bf16": (2.0**-8, 2.0**-134, 3.3895313892515355e38, torch.bfloat16),
}

#: Operations by their name here: op of MLIR and what it computes.
OPS = {
    "add": ("arith.addf", torch.add),
    "sub": ("arith.subf", torch.sub),
    "mul": ("arith.mulf", torch.mul),
    "div": ("arith.divf", torch.div),
    "max": ("arith.maximumf", torch.maximum),
    "min": ("arith.minimumf", torch.minimum),
    "neg": ("arith.negf", torch.neg),
    "abs": ("math.absf", torch.abs),
    "fma": ("math.fma", lambda a, b, c: a * b + c),
    "pow": ("math.powf", torch.pow),
    "exp": ("math.exp", torch.exp),
    "exp2": ("math.exp2", torch.exp2),
    "expm1": ("math.expm1", torch.expm1),
    "log": ("math.log", torch.log),
    "log2": ("math.log2", torch.log2),
    "log10": ("math.log10", torch.log10),
    "log1p": ("math.log1p", torch.log1p),
    "sqrt": ("math.sqrt", torch.sqrt),
    "rsqrt": ("math.rsqrt", lambda a: 1 / torch.sqrt(a)),
    "cbrt": ("math.cbrt", lambda a: torch.sign(a) * torch.abs(a) ** (1 / 3)),
    "tanh": ("math.tanh", torch.tanh),
    "erf": ("math.erf", torch.erf),
    "sin": ("math.sin", torch.sin),
    "cos": ("math.cos", torch.cos),
    "tan": ("math.tan", torch.tan),
    "atan": ("math.atan", torch.atan),
    "sinh": ("math.sinh", torch.sinh),
    "cosh": ("math.cosh", torch.cosh),
    "asinh": ("math.asinh", torch.asinh),
    # a > b ? x : y
    "choose": (None, lambda a, b, x, y: torch.where(a > b, x, y)),
}
#: Functions of one operand that round.
FUNCTIONS = list(OPS)[list(OPS).index("exp") : list(OPS).index("choose")]
#: What rounds nothing.
EXACT = {"max", "min", "neg", "abs", "choose"}


class Node:
    """A tensor of a definition: `indices` are its coordinates, each a dimension
    of the definition, or the sum of two for a window."""

    def __init__(self, kind, operands, indices, over=None, type="f32"):
        self.kind, self.operands, self.indices = kind, operands, indices
        self.over, self.type = over, type

    @property
    def dims(self):
        return [dim for index in self.indices for dim in index.split("+")]


class Definition:
    """The nodes of a workload, in order; `sizes` of its dimensions."""

    def __init__(self, name, type="f32", **sizes):
        self.name, self.type, self.sizes = name, type, sizes
        self.operands, self.nodes, self.results = [], [], []

    def operand(self, dims, type=None):
        node = Node("operand", [], list(dims), type=type or self.type)
        self.operands.append(node)
        return node

    def _add(self, *arguments, **more):
        self.nodes.append(Node(*arguments, type=more.pop("type", self.type), **more))
        return self.nodes[-1]

    def _dims(self, operands):
        seen = {dim for x in operands if isinstance(x, Node) for dim in x.dims}
        return [dim for dim in self.sizes if dim in seen]

    def op(self, kind, *operands):
        return self._add(kind, list(operands), self._dims(operands))

    def reduce(self, kind, x, over):
        """`sum`, `prod` or `highest` over some dimensions."""
        return self._add(kind, [x], [d for d in self._dims([x]) if d not in over], over)

    def contract(self, a, b, over):
        dims = [d for d in self._dims([a, b]) if d not in over]
        return self._add("contract", [a, b], dims, over)

    def keep(self, x, type):
        return self._add("keep", [x], self._dims([x]), type=type)

    def windows(self, x, dim, place, offset):
        """x at place + offset; no op of its own."""
        indices = [f"{place}+{offset}" if i == dim else i for i in x.indices]
        return self._add("windows", [x], indices, over=dim, type=x.type)

    def result(self, *nodes):
        self.results += nodes
        return self

    # Text.

    def _shape(self, indices):
        """Of a tensor; that of a window reaches beyond its places."""
        return [
            sum(self.sizes[dim] for dim in index.split("+")) - index.count("+")
            for index in indices
        ]

    def _tensor(self, node):
        sizes = [*map(str, self._shape(node.indices)), node.type]
        return f"tensor<{'x'.join(sizes)}>"

    def mlir(self):
        """The definition as func.func @forward."""
        name = {x: f"%a{i}" for i, x in enumerate(self.operands)}
        lines = []
        for n, node in enumerate(self.nodes):
            if node.kind == "windows":
                name[node] = name[node.operands[0]]
                continue
            name[node] = f"%r{n}"
            lines += self._generic(node, name, n)
        arguments = ", ".join(f"{name[x]}: {self._tensor(x)}" for x in self.operands)
        types = ", ".join(map(self._tensor, self.results))
        values = ", ".join(name[x] for x in self.results)
        return "\n".join(
            [
                f"func.func @forward({arguments}) -> ({types}) {{",
                *lines,
                f"return {values} : {types}",
                "}",
            ]
        )

    def _generic(self, node, name, n):
        loops = self._dims([node, *node.operands])
        tensors = [x for x in node.operands if isinstance(x, Node)]

        def map_of(indices):
            return f"affine_map<({', '.join(loops)}) -> ({', '.join(indices)})>"

        maps = ", ".join(map_of(x.indices) for x in [*tensors, node])
        kinds = ", ".join(
            '"reduction"' if dim in (node.over or "") else '"parallel"' for dim in loops
        )
        out, type = f"%e{n}", self._tensor(node)
        lines = [f"%empty{n} = tensor.empty() : {type}"]
        if node.over:
            start = {"highest": "0xFF800000", "prod": "1.0"}.get(node.kind, "0.0")
            lines.append(f"%s{n} = arith.constant {start} : {self.type}")
            lines.append(
                f"{out} = linalg.fill ins(%s{n} : {self.type}) "
                f"outs(%empty{n} : {type}) -> {type}"
            )
        else:
            out = f"%empty{n}"
        names = ", ".join(name[x] for x in tensors)
        types = ", ".join(map(self._tensor, tensors))
        lines.append(
            f"{name[node]} = linalg.generic {{indexing_maps = [{maps}], "
            f"iterator_types = [{kinds}]}} ins({names} : {types}) "
            f"outs({out} : {type}) {{"
        )
        arguments = [f"%x{i}: {x.type}" for i, x in enumerate(tensors)]
        lines.append(f"^bb0({', '.join([*arguments, f'%o: {node.type}'])}):")
        values = []
        for i, x in enumerate(node.operands):
            if not isinstance(x, Node):
                lines.append(f"%c{i} = arith.constant {x:e} : {self.type}")
                values.append(f"%c{i}")
                continue
            place = tensors.index(x)
            values.append(f"%x{place}")
            if x.type != self.type:
                values[-1] = f"%w{i}"
                lines.append(f"%w{i} = arith.extf %x{place} : {x.type} to {self.type}")
        lines += self._body(node, values)
        lines += [f"linalg.yield %y : {node.type}", f"}} -> {type}"]
        return lines

    def _body(self, node, values):
        t = self.type
        if node.kind == "keep":
            return [f"%y = arith.truncf {values[0]} : {t} to {node.type}"]
        if node.kind == "choose":
            a, b, x, y = values
            return [
                f"%f = arith.cmpf ogt, {a}, {b} : {t}",
                f"%y = arith.select %f, {x}, {y} : {t}",
            ]
        if node.kind == "highest":
            return [f"%y = arith.maximumf {values[0]}, %o : {t}"]
        if node.kind == "sum":
            return [f"%y = arith.addf {values[0]}, %o : {t}"]
        if node.kind == "prod":
            return [f"%y = arith.mulf {values[0]}, %o : {t}"]
        if node.kind == "contract":
            return [
                f"%p = arith.mulf {values[0]}, {values[1]} : {t}",
                f"%y = arith.addf %p, %o : {t}",
            ]
        return [f"%y = {OPS[node.kind][0]} {', '.join(values)} : {t}"]

    # Values.

    def align(self, value, dims):
        """With one axis for each dimension of the definition."""
        order = sorted(range(len(dims)), key=lambda i: list(self.sizes).index(dims[i]))
        shape = [self.sizes[d] if d in dims else 1 for d in self.sizes]
        return value.permute(order).reshape(shape)

    def evaluate(self, arithmetic, operands):
        """The results, each with the shape of its tensor."""
        values = {}
        for node, array in zip(self.operands, operands, strict=True):
            values[node] = arithmetic.operand(array, node)
        for node in self.nodes:
            if node.kind == "windows":
                values[node] = arithmetic.windows(self, node, values[node.operands[0]])
                continue
            given = [
                arithmetic.aligned(self, values[x], x.dims)
                if isinstance(x, Node)
                else arithmetic.constant(x)
                for x in node.operands
            ]
            axes = [i for i, dim in enumerate(self.sizes) if dim in (node.over or "")]
            made = getattr(arithmetic, node.kind, None)
            made = (
                made(given, axes, node)
                if made
                else arithmetic.apply(node.kind, given)
            )
            values[node] = arithmetic.shaped(
                made, [self.sizes[dim] for dim in node.dims]
            )
        return [arithmetic.result(values[x]) for x in self.results]


def window_of(definition, node, value):
    """The values at all places and offsets of a window."""
    index = node.operands[0].indices.index(node.over)
    place, offset = node.indices[index].split("+")
    axis = node.operands[0].dims.index(node.over)
    index = torch.arange(definition.sizes[place])[:, None] + torch.arange(
        definition.sizes[offset]
    )
    lead = (slice(None),) * axis
    return value[(*lead, index)]


def product_over(terms, axes):
    for axis in axes:
        terms = terms.prod(axis, keepdim=True)
    return terms


class Exact:
    """In f64, whose roundings are 2**29 times smaller."""

    def operand(self, array, node):
        return torch.from_numpy(array).double()

    def constant(self, x):
        return torch.tensor(x, dtype=torch.float64)

    def aligned(self, definition, value, dims):
        return definition.align(value, dims)

    def shaped(self, value, shape):
        return value.reshape(shape)

    def windows(self, definition, node, value):
        return window_of(definition, node, value)

    def result(self, value):
        return value

    def apply(self, kind, operands):
        return OPS[kind][1](*operands)

    def keep(self, operands, axes, node):
        return operands[0]

    def sum(self, operands, axes, node):
        return operands[0].sum(axes, keepdim=True)

    def prod(self, operands, axes, node):
        return product_over(operands[0], axes)

    def highest(self, operands, axes, node):
        return operands[0].amax(axes, keepdim=True)

    def contract(self, operands, axes, node):
        return (operands[0] * operands[1]).sum(axes, keepdim=True)


class Honest(Exact):
    """An honest kernel in f32: every result is off by up to a rounding or, where
    the library's functions are, two places; in one of several orders of sums.

    `split`: operands of products keep 21 bits, as three TF32 terms do. `flush`:
    what is below the smallest normal number is zero.
    """

    ORDERS = ("sequential", "pairwise", "split", "fma")

    def __init__(self, seed, order="sequential", split=False, flush=False):
        self.generator = torch.Generator().manual_seed(seed)
        self.order, self.split, self.flush = order, split, flush

    def rounded(self, value, places=1.0):
        drawn = torch.rand(value.shape, generator=self.generator, dtype=torch.float64)
        moved = value * (1 + (2 * drawn - 1) * places * UNIT)
        # Into the range of f32: to its subnormals, or to zero.
        step = 2.0**-149
        small = torch.round(moved / step) * step
        moved = torch.where(moved.abs() < SMALLEST, small, moved)
        # The largest number is exact; what is beyond by half a place is infinite.
        moved = moved.clamp(-LARGEST, LARGEST)
        beyond = value.abs() >= LARGEST * (1 + UNIT)
        return self.used(torch.where(beyond, value * math.inf, moved))

    def parts(self, value):
        """What a product sees of an operand."""
        if not self.split:
            return value
        drawn = torch.rand(value.shape, generator=self.generator, dtype=torch.float64)
        return value * (1 + (2 * drawn - 1) * 8 * UNIT)

    def used(self, value):
        flushed = self.flush & (value.abs() < SMALLEST)
        return torch.where(flushed, 0 * value, value)

    def apply(self, kind, operands):
        exact = OPS[kind][1]
        if kind in EXACT:
            return exact(*operands)
        # A power with a tiny exponent is 1, or 0.
        operands = [self.used(operands[0]), *operands[1:]] if kind == "pow" else [
            self.used(x) for x in operands
        ]
        if kind == "mul":
            operands = [self.parts(x) for x in operands]
        # e and powers of any base by powers of 2: the exponent is rounded.
        if kind == "exp":
            exponent = self.rounded(operands[0] * (1 / math.log(2)))
            return self.rounded(torch.exp2(exponent), 4)
        if kind == "pow":
            base, power = operands
            exponent = self.rounded(power * torch.log2(base.abs()))
            exponent = torch.where(power == 0, 0.0, exponent)
            size = torch.exp2(exponent) * torch.sign(exact(base, power))
            return self.rounded(torch.where(exact(base, power) == 0, 0 * size, size), 4)
        once = kind in ("add", "sub", "mul", "fma", "sqrt")
        return self.rounded(exact(*operands), 1 if once else 4)

    def keep(self, operands, axes, node):
        unit, place, largest, _ = NARROW[node.type]
        value = self.rounded(operands[0])
        drawn = torch.rand(value.shape, generator=self.generator, dtype=torch.float64)
        near = torch.maximum(value.abs() * unit, torch.tensor(place))
        kept = value + (2 * drawn - 1) * near
        kept = torch.where(torch.isfinite(value), kept, value)
        return torch.where(kept.abs() > largest, kept * math.inf, kept)

    def _over(self, terms, axes, combine):
        """All terms along some axes combined, in this kernel's order."""
        kept = [i for i in range(terms.ndim) if i not in axes]
        shape = [1 if i in axes else n for i, n in enumerate(terms.shape)]
        lines = terms.permute([*axes, *kept]).reshape(
            [-1, *(terms.shape[i] for i in kept)]
        )
        if self.order == "pairwise":
            while len(lines) > 1:
                half = len(lines) // 2
                combined = combine(lines[:half], lines[half : 2 * half])
                lines = torch.cat([combined, lines[2 * half :]])
            return lines[0].reshape(shape)
        if self.order == "split":
            parts = [lines[i::8] for i in range(min(8, len(lines)))]
            lines = [functools.reduce(combine, part) for part in parts]
        return functools.reduce(combine, lines).reshape(shape)

    def _added(self, a, b):
        """Nothing is rounded where nothing is added."""
        return torch.where((a == 0) | (b == 0), a + b, self.rounded(a + b))

    def sum(self, operands, axes, node):
        return self._over(self.used(operands[0]), axes, self._added)

    def prod(self, operands, axes, node):
        def multiplied(a, b):
            return self.rounded(self.parts(a) * self.parts(b))

        return self._over(self.used(operands[0]), axes, multiplied)

    def contract(self, operands, axes, node):
        operands = [self.parts(self.used(x)) for x in operands]
        products = operands[0] * operands[1]
        if self.order != "fma":
            products = self.rounded(products)
        return self._over(products, axes, self._added)


class Single(Honest):
    """The arithmetic of the machine: torch's in f32."""

    def operand(self, array, node):
        return torch.from_numpy(array).float()

    def constant(self, x):
        return torch.tensor(x, dtype=torch.float32)

    def result(self, value):
        return value.double()

    def rounded(self, value, places=1.0):
        return value

    used = rounded

    def apply(self, kind, operands):
        return OPS[kind][1](*operands)

    def keep(self, operands, axes, node):
        return operands[0].to(NARROW[node.type][3]).float()


class Traced(Exact):
    """Exactly, noting each intermediate with the magnitude that its rounding is
    relative to: the true condition is the sum of all magnitudes times what each
    is worth in a result.

    An exact operand counts at each use in arithmetic: a kernel may split it.
    """

    def __init__(self):
        self.noted = []
        self.exact = set()

    def note(self, value, size=None):
        value = value.clone()
        if not value.requires_grad:
            value.requires_grad_()
        self.noted.append((value, value.detach().abs() if size is None else size))
        return value

    def operand(self, array, node):
        value = super().operand(array, node)
        value.fastk_exact = True
        return value

    def constant(self, x):
        value = super().constant(x)
        value.fastk_constant = True
        return value

    def _mark(self, made, source):
        if getattr(source, "fastk_exact", False):
            made.fastk_exact = True
        return made

    def aligned(self, definition, value, dims):
        return self._mark(super().aligned(definition, value, dims), value)

    def shaped(self, value, shape):
        return self._mark(super().shaped(value, shape), value)

    def windows(self, definition, node, value):
        return self._mark(super().windows(definition, node, value), value)

    def used(self, value):
        return self.note(value) if getattr(value, "fastk_exact", False) else value

    def apply(self, kind, operands):
        if kind in EXACT:
            made = OPS[kind][1](*operands)
            moved = operands[2:] if kind == "choose" else operands
            known = ("fastk_exact", "fastk_constant")
            if all(any(hasattr(x, k) for k in known) for x in moved):
                made.fastk_exact = True
            return made
        operands = [self.used(x) for x in operands]
        made = OPS[kind][1](*operands)
        if kind == "exp":  # The exponent of 2 is rounded.
            change = 1 + operands[0].detach().abs()
            return self.note(made, made.detach().abs() * change)
        if kind == "pow":
            exponent = operands[1] * torch.log(operands[0].abs())
            return self.note(made, made.detach().abs() * (1 + exponent.detach().abs()))
        if kind == "fma":
            product = (operands[0] * operands[1]).detach().abs()
            return self.note(made, made.detach().abs() + product)
        return self.note(made)

    def keep(self, operands, axes, node):
        unit, place, _, _ = NARROW[node.type]
        size = operands[0].detach().abs() * unit + place
        made = self.note(operands[0], size / (8 * UNIT))
        return made

    def _sum(self, terms, axes):
        total = terms.sum(axes, keepdim=True)
        return self.note(total, growth(terms.detach(), axes))

    def sum(self, operands, axes, node):
        return self._sum(self.used(operands[0]), axes)

    def prod(self, operands, axes, node):
        """Each of n factors brings a rounding, whatever their order."""
        factors = self.used(operands[0])
        count = math.prod(factors.shape[axis] for axis in axes)
        made = product_over(factors, axes)
        return self.note(made, count * made.detach().abs())

    def contract(self, operands, axes, node):
        product = self.note(self.used(operands[0]) * self.used(operands[1]))
        return self._sum(product, axes)

    def highest(self, operands, axes, node):
        return self._mark(super().highest(operands, axes, node), operands[0])

    def conditions(self, results):
        """For each result the true condition of its elements."""
        made = []
        for result in results:
            if not result.requires_grad:
                made.append(torch.zeros_like(result))
                continue
            flat = result.reshape(-1)
            total = torch.zeros_like(flat)
            grads = torch.autograd.grad(
                flat,
                [value for value, _ in self.noted],
                torch.eye(len(flat), dtype=flat.dtype),
                retain_graph=True,
                allow_unused=True,
                is_grads_batched=True,
            )
            for grad, (_, size) in zip(grads, self.noted, strict=True):
                if grad is not None:
                    worth = torch.where(grad == 0, 0.0, grad.abs() * size)
                    total = total + worth.reshape(len(flat), -1).sum(1)
            made.append(total.reshape(result.shape).detach())
        return made


class Annotated(Exact):
    """Values with something beside them, which is the result: tuples."""

    def aligned(self, definition, value, dims):
        return tuple(definition.align(part, dims) for part in value)

    def shaped(self, value, shape):
        return tuple(part.reshape(shape) for part in value)

    def windows(self, definition, node, value):
        return tuple(window_of(definition, node, part) for part in value)

    def result(self, value):
        return value[1]


class Ranges(Annotated):
    """Whether a value, or what led to it, is beyond its type: (r, beyond)."""

    def _marked(self, value, beyond, size=None, largest=LARGEST):
        size = value.abs() if size is None else size
        return value, beyond | ~(size <= largest)

    def operand(self, array, node):
        value = super().operand(array, node)
        return self._marked(value, torch.zeros_like(value, dtype=torch.bool))

    def constant(self, x):
        return self.operand(numpy.array(x), None)

    def apply(self, kind, operands):
        values, beyond = zip(*operands, strict=True)
        any_beyond = functools.reduce(torch.logical_or, beyond)
        return self._marked(OPS[kind][1](*values), any_beyond)

    def keep(self, operands, axes, node):
        return self._marked(*operands[0], largest=NARROW[node.type][2])

    def sum(self, operands, axes, node):
        value, beyond = operands[0]
        beyond = beyond.sum(axes, keepdim=True) > 0
        size = value.abs().sum(axes, keepdim=True)
        return self._marked(value.sum(axes, keepdim=True), beyond, size)

    def prod(self, operands, axes, node):
        """In some order a product reaches that of all factors above 1."""
        value, beyond = operands[0]
        beyond = beyond.sum(axes, keepdim=True) > 0
        most = product_over(value.abs().clamp(min=1), axes)
        return self._marked(product_over(value, axes), beyond, most)

    def highest(self, operands, axes, node):
        value, beyond = operands[0]
        return value.amax(axes, keepdim=True), beyond.sum(axes, keepdim=True) > 0

    def contract(self, operands, axes, node):
        return self.sum([self.apply("mul", operands)], axes, node)


def growth(terms, axes):
    """What the roundings of a sum of terms add to its condition."""
    count = (terms != 0).sum(axes, keepdim=True)
    size = terms.abs().sum(axes, keepdim=True)
    return torch.where(count > 1, (1 + count.sqrt() / 4) * size, 0.0)


class Conditions(Annotated):
    """The table of docs/validation.md, line by line: values with conditions.

    A value is (r, κ, what arithmetic reckons with); the last is the magnitude of
    an exact operand, zero for constants. `weight` is 2 or 4, where the table leaves
    a range: of a function's own rounding, a product by a constant, what decides a
    maximum.
    """

    def __init__(self, weight, unit=UNIT):
        self.weight, self.unit = weight, unit

    def operand(self, array, node):
        value = super().operand(array, node)
        return value, torch.zeros_like(value), value.abs()

    def constant(self, x):
        value = super().constant(x)
        return value, torch.zeros_like(value), torch.zeros_like(value)

    def _taken(self, first, a, b, x, y, jumps):
        """x where `first`, else y; `first` was decided by a and b."""
        rounds = a[1] + b[1] > 0
        unsure = rounds & ((a[0] - b[0]).abs() <= 8 * self.unit * (a[1] + b[1]))
        size = torch.maximum(x[1], y[1])
        if jumps:
            size = size + (x[0] - y[0]).abs() / (8 * self.unit)
        condition = torch.where(unsure, size, torch.where(first, x[1], y[1]))
        return torch.where(first, x[0], y[0]), condition

    def apply(self, kind, operands):
        values, conditions, reckoned = zip(*operands, strict=True)
        r = OPS[kind][1](*values)
        size = r.abs()
        if kind in ("neg", "abs"):
            return r, conditions[0], reckoned[0]
        if kind in ("max", "min", "choose"):
            a, b = operands[:2]
            x, y = operands[2:] or operands[:2]
            first = a[0] <= b[0] if kind == "min" else a[0] > b[0]
            _, condition = self._taken(first, a, b, x, y, kind == "choose")
            exact = (x[1] == 0) & (y[1] == 0) & (condition == 0)
            return r, condition, torch.where(exact, size, condition)
        if kind in ("add", "sub"):
            condition = reckoned[0] + reckoned[1] + size
        elif kind in ("mul", "fma"):
            product = (values[0] * values[1]).abs()
            constant = any((k == 0).all() and (c == 0).all() for c, k in
                           zip(conditions[:2], reckoned[:2], strict=True))
            own = 1 if constant and self.weight == 2 else 2
            condition = (
                values[0].abs() * reckoned[1]
                + values[1].abs() * reckoned[0]
                + own * product
            )
            if kind == "fma":
                condition = condition + reckoned[2] + size
        elif kind == "div":
            condition = (reckoned[0] + size * reckoned[1]) / values[1].abs() + 2 * size
        elif kind == "exp":
            condition = size * (reckoned[0] + values[0].abs() + 2)
        elif kind == "exp2":
            condition = size * (math.log(2) * (reckoned[0] + values[0].abs()) + 2)
        elif kind == "pow":
            logarithm = values[0].abs().log().abs()
            change = values[1].abs() * reckoned[0] / values[0].abs()
            change = change + logarithm * (reckoned[1] + values[1].abs()) + 3
            condition = size * change
        else:
            x = values[0].clone().requires_grad_()
            (slope,) = torch.autograd.grad(OPS[kind][1](x).sum(), x)
            condition = slope.abs() * reckoned[0] + self.weight * size
        return r, condition, condition

    def keep(self, operands, axes, node):
        r, condition, _ = operands[0]
        unit, place, _, _ = NARROW[node.type]
        own = 1.1 * (r.abs() * unit + place) / (8 * self.unit)
        return r, condition + own, condition + own

    def sum(self, operands, axes, node):
        r, _, reckoned = operands[0]
        condition = reckoned.sum(axes, keepdim=True) + growth(r, axes)
        return r.sum(axes, keepdim=True), condition, condition

    def prod(self, operands, axes, node):
        """The sum over factors t of (|r / t| kt + 2 |r|)."""
        terms, _, reckoned = operands[0]
        r = product_over(terms, axes)
        own = torch.where(terms == 0, 0.0, reckoned / terms.abs() + 2)
        condition = r.abs() * own.sum(axes, keepdim=True)
        # Of one factor that is zero, what is left is the product of the others.
        zeros = (terms == 0).sum(axes, keepdim=True)
        others = product_over(torch.where(terms == 0, 1.0, terms), axes).abs()
        lost = torch.where(terms == 0, reckoned, 0.0).sum(axes, keepdim=True)
        condition = torch.where(zeros == 1, others * lost, condition)
        return r, condition, condition

    def highest(self, operands, axes, node):
        terms, conditions, _ = operands[0]
        r = terms.amax(axes, keepdim=True)
        taken = torch.where(terms == r, conditions, 0.0).amax(axes, keepdim=True)
        if self.weight > 2:  # The larger, where rounding may decide otherwise.
            unsure = r - terms <= 8 * self.unit * (conditions + taken)
            taken = torch.where(unsure, conditions, 0.0).amax(axes, keepdim=True)
        return r, taken, torch.where(taken == 0, r.abs(), taken)

    def contract(self, operands, axes, node):
        return self.sum([self.apply("mul", operands)], axes, node)
