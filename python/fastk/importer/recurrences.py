# ===- recurrences.py - LSTM, GRU and RNN as loops -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""torch.nn.LSTM, GRU and RNN as scf.for around a step.

torch's own decomposition writes every step out, three times over: minutes for 512
steps of a few layers. Here the products with the inputs, which depend on no step, are
one product a layer, and what is left of a layer is an op of ours, `fastk::lstm_layer`
and so on, which torch-mlir carries as it is. `expand` then puts loops in their place.

Half types compute in f32, as the other decompositions do.
"""

import re

#: {op: states it carries}; each also with the suffix _reversed.
LAYERS = {"lstm_layer": 2, "gru_layer": 1, "rnn_tanh_layer": 1, "rnn_relu_layer": 1}
_SUFFIXES = ("", "_reversed")
_library = None


def _define():
    """Defines the ops, once a process."""
    global _library
    if _library:
        return
    import torch

    _library = torch.library.Library("fastk", "DEF")
    for name, states in LAYERS.items():
        for suffix in _SUFFIXES:
            carried = "".join(f", Tensor state{index}" for index in range(states))
            results = ", ".join(["Tensor"] * (1 + states))
            _library.define(
                f"{name}{suffix}(Tensor gates{carried}, Tensor weight, Tensor bias) "
                f"-> ({results})"
            )
            _library.impl(f"{name}{suffix}", _shapes(states), "Meta")


def _shapes(states):
    def shapes(gates, *rest):
        hidden = rest[:states]
        output = gates.new_empty((*gates.shape[:2], hidden[0].shape[-1]))
        return output, *(each.new_empty(each.shape) for each in hidden)

    return shapes


def table():
    """{op overload: function}, to be merged over torch-mlir's table."""
    import torch
    from torch import _decomp

    _define()
    aten = torch.ops.aten

    def lstm(x, states, weights, biases, layers, dropout, train, both, batch_first):
        if states[0].shape[-1] != states[1].shape[-1] or _is_open(x):
            # Of proj_size, or of an open batch: steps written out.
            return _decomp.decompositions.lstm_impl(
                x, states, weights, biases, layers, dropout, train, both, batch_first
            )
        y, (h, c) = _run("lstm_layer", x, states, weights, biases, layers, both, batch_first)
        return y, h, c

    def one_state(name, written_out):
        def run(x, state, weights, biases, layers, dropout, train, both, batch_first):
            if _is_open(x):
                return written_out(
                    x, state, weights, biases, layers, dropout, train, both, batch_first
                )
            y, (h,) = _run(name, x, [state], weights, biases, layers, both, batch_first)
            return y, h

        return run

    return {
        aten.lstm.input: lstm,
        aten.gru.input: one_state("gru_layer", _decomp.decompositions.gru_impl),
        aten.rnn_tanh.input: one_state(
            "rnn_tanh_layer", _decomp.decompositions.rnn_tanh_input
        ),
        aten.rnn_relu.input: one_state(
            "rnn_relu_layer", _decomp.decompositions.rnn_relu_input
        ),
    }


def _is_open(x):
    """Whether a call decides a size of `x`; our loops are of fixed sizes."""
    return any(not isinstance(size, int) for size in x.shape)


def _run(name, x, states, weights, has_biases, layers, bidirectional, batch_first):
    import torch

    from .decompositions import widened

    directions = _SUFFIXES if bidirectional else _SUFFIXES[:1]
    each = 4 if has_biases else 2
    dtype, wide = x.dtype, widened(torch, x.dtype)
    x = (x.transpose(0, 1) if batch_first else x).to(wide)
    last = [[] for _ in states]
    for layer in range(layers):
        outputs = []
        for suffix in directions:
            index = len(last[0])
            w_in, w, *b = (
                weight.to(wide) for weight in weights[index * each : (index + 1) * each]
            )
            gates = x.reshape(-1, x.shape[-1]) @ w_in.t()
            if b:
                gates = gates + b[0]
            gates = gates.reshape(*x.shape[:2], -1)
            bias = b[1] if b else gates.new_zeros(w.shape[0])
            op = getattr(torch.ops.fastk, name + suffix).default
            carried = [state[index].to(wide) for state in states]
            output, *carried = op(gates, *carried, w, bias)
            outputs.append(output)
            for kept, state in zip(last, carried):
                kept.append(state.to(dtype))
        x = torch.cat(outputs, -1) if bidirectional else outputs[0]
    y = x.to(dtype)
    y = y.transpose(0, 1) if batch_first else y
    return y, [torch.stack(kept) for kept in last]


def expand(module):
    """Puts loops in the place of our ops, in torch-mlir's module in its Torch dialect."""
    from torch_mlir import ir

    found = []

    def visit(operation):
        operation = operation.operation
        if operation.name == "torch.operator":
            name = ir.StringAttr(operation.attributes["name"]).value
            if name.startswith("torch.fastk."):
                found.append((name.removeprefix("torch.fastk."), operation))
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    if found:
        _load_conversions(module.context)
    for name, operation in found:
        with module.context, operation.location:
            _replace(name, operation)


def _load_conversions(context):
    """Loads the dialect torch_c, which no Python function registers: a pass does."""
    from torch_mlir import ir, passmanager

    with context, ir.Location.unknown():
        passes = passmanager.PassManager.parse(
            "builtin.module(torch-func-backend-type-conversion)"
        )
        passes.run(ir.Module.create().operation)


def _replace(name, operation):
    from torch_mlir import ir

    point = ir.InsertionPoint(operation)

    def convert(op, value, result):
        return ir.Operation.create(op, [result], [value], ip=point).results[0]

    operands = [
        convert("torch_c.to_builtin_tensor", each, ir.Type.parse(_builtin(each.type)))
        for each in operation.operands
    ]
    layer = ir.Module.parse(_layer(name, [str(each.type) for each in operands]))
    block = layer.body.operations[0].regions[0].blocks[0]
    for argument, operand in zip(block.arguments, operands):
        argument.replace_all_uses_with(operand)
    *body, end = (each.operation for each in block.operations)
    results = list(end.operands)
    for each in body:
        each.move_before(operation)
    for old, new in zip(operation.results, results):
        old.replace_all_uses_with(convert("torch_c.from_builtin_tensor", new, old.type))
    operation.erase()


def _builtin(torch_type):
    """tensor<2x3xf32> for !torch.vtensor<[2,3],f32>."""
    shape, element = re.fullmatch(
        r"!torch\.vtensor<\[([\d,]*)\],(\w+)>", str(torch_type)
    ).groups()
    return f"tensor<{''.join(size + 'x' for size in shape.split(','))}{element}>"


def _layer(name, types):
    """A function of one layer; `types` of gates, states, weight and bias."""
    kind = name.removesuffix(_SUFFIXES[1])
    backwards = name != kind
    steps, batch, gates, element = re.fullmatch(
        r"tensor<(\d+)x(\d+)x(\d+)x(\w+)>", types[0]
    ).groups()
    steps, gates = int(steps), int(gates)
    states = LAYERS[kind]
    hidden = int(re.fullmatch(r"tensor<\d+x(\d+)x\w+>", types[1])[1])

    def tensor(*sizes):
        return f"tensor<{''.join(f'{size}x' for size in sizes)}{element}>"

    row, state = tensor(batch, gates), tensor(batch, hidden)
    output = tensor(steps, batch, hidden)
    names = [f"%state{index}" for index in range(states)]
    arguments = ["%gates", *names, "%weight", "%bias"]
    signature = ", ".join(f"{a}: {t}" for a, t in zip(arguments, types))
    carried = [output] + [state] * states
    inits = "".join(f", %before{index} = %state{index}" for index in range(states))
    cell, new = _cell(kind, hidden, row, state, element)
    time = "%step"
    reverse = ""
    if backwards:
        time = "%time"
        reverse = f"""
    %last = arith.constant {steps - 1} : index
    %time = arith.subi %last, %step : index"""
    return f"""
func.func @layer({signature}) -> ({", ".join(carried)}) {{
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %steps = arith.constant {steps} : index
  %wide = tensor.empty() : {tensor(hidden, gates)}
  %transposed = linalg.transpose ins(%weight : {types[-2]}) outs(%wide : {tensor(hidden, gates)}) permutation = [1, 0]
  %empty = tensor.empty() : {output}
  %all:{1 + states} = scf.for %step = %zero to %steps step %one iter_args(%out = %empty{inits}) -> ({", ".join(carried)}) {{{reverse}
    %x = tensor.extract_slice %gates[{time}, 0, 0] [1, {batch}, {gates}] [1, 1, 1] : {types[0]} to {row}
    %room = tensor.empty() : {row}
    %biases = linalg.broadcast ins(%bias : {types[-1]}) outs(%room : {row}) dimensions = [0]
    %h = linalg.matmul ins(%before0, %transposed : {state}, {tensor(hidden, gates)}) outs(%biases : {row}) -> {row}
    %made = tensor.empty() : {state}
    {cell}
    %next = tensor.insert_slice {new[0]} into %out[{time}, 0, 0] [1, {batch}, {hidden}] [1, 1, 1] : {state} into {output}
    scf.yield %next, {", ".join(new)} : {", ".join(carried)}
  }}
  return {", ".join(f"%all#{index}" for index in range(1 + states))} : {", ".join(carried)}
}}
"""


def _sigmoid(name, value, element):
    return f"""
      %{name}_negative = arith.negf {value} : {element}
      %{name}_power = math.exp %{name}_negative : {element}
      %{name}_sum = arith.addf %{name}_power, %unit : {element}
      %{name} = arith.divf %unit, %{name}_sum : {element}"""


#: {layer: (how many gates, whether those of x and h are read apart and not as their
#: sum, the new states with the output first, the step as text)}.
_STEPS = {
    "lstm_layer": (
        4, False, "%h1, %c1",
        lambda e: _sigmoid("i", "%g0", e) + _sigmoid("f", "%g1", e) + _sigmoid("o", "%g3", e) + f"""
      %new = math.tanh %g2 : {e}
      %kept = arith.mulf %f, %s1 : {e}
      %added = arith.mulf %i, %new : {e}
      %c1 = arith.addf %kept, %added : {e}
      %bent = math.tanh %c1 : {e}
      %h1 = arith.mulf %o, %bent : {e}""",
    ),
    "gru_layer": (
        3, True, "%h1",
        lambda e: f"""
      %rs = arith.addf %x0, %g0 : {e}
      %zs = arith.addf %x1, %g1 : {e}""" + _sigmoid("r", "%rs", e) + _sigmoid("z", "%zs", e) + f"""
      %reset = arith.mulf %r, %g2 : {e}
      %ns = arith.addf %x2, %reset : {e}
      %n = math.tanh %ns : {e}
      %difference = arith.subf %s0, %n : {e}
      %kept = arith.mulf %z, %difference : {e}
      %h1 = arith.addf %kept, %n : {e}""",
    ),
    "rnn_tanh_layer": (1, False, "%h1", lambda e: f"\n      %h1 = math.tanh %g0 : {e}"),
    "rnn_relu_layer": (
        1, False, "%h1",
        lambda e: f"""
      %nothing = arith.constant 0.0 : {e}
      %h1 = arith.maximumf %g0, %nothing : {e}""",
    ),
}  # fmt: skip


def _cell(kind, hidden, row, state, element):
    """Text of a step from %x, %h and the states %s0 and on; and its new states."""
    count, apart, results, step = _STEPS[kind]
    states = LAYERS[kind]
    batch = re.match(r"tensor<(\d+)x", state)[1]
    lines, ins = [], []

    def slices(source, prefix):
        for index in range(count):
            lines.append(
                f"%{prefix}{index}_slice = tensor.extract_slice %{source}[0, {index * hidden}] "
                f"[{batch}, {hidden}] [1, 1] : {row} to {state}"
            )
            ins.append((f"%{prefix}{index}_slice", f"%{prefix}{index}"))

    slices("h", "g")
    slices("x", "x")
    ins += [(f"%before{index}", f"%s{index}") for index in range(states)]
    if not apart:
        # The sum of both, before all else.
        sums = "".join(
            f"\n      %g{index} = arith.addf %g{index}_h, %x{index} : {element}"
            for index in range(count)
        )
        ins = [(a, b + "_h" if b.startswith("%g") else b) for a, b in ins]
    else:
        sums = ""
    map_ = "affine_map<(a, b) -> (a, b)>"
    maps = ", ".join([map_] * (len(ins) + states))
    arguments = ", ".join(f"{b}: {element}" for _, b in ins)
    arguments += "".join(f", %unused{index}: {element}" for index in range(states))
    types = ", ".join([state] * len(ins))
    made = ", ".join([state] * states)
    outs = ", ".join(["%made"] * states)
    text = "\n    ".join(lines) + f"""
    %new_states{f":{states}" if states > 1 else ""} = linalg.generic {{indexing_maps = [{maps}], iterator_types = ["parallel", "parallel"]}} ins({", ".join(a for a, _ in ins)} : {types}) outs({outs} : {made}) {{
    ^bb0({arguments}):
      %unit = arith.constant 1.0 : {element}{sums}{step(element)}
      linalg.yield {results} : {", ".join([element] * states)}
    }} -> {"(" + made + ")" if states > 1 else made}"""
    new = [f"%new_states#{index}" for index in range(states)] if states > 1 else ["%new_states"]
    return text, new
