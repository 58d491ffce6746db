# ===- lower.py - ExportedProgram to linalg text -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""torch-mlir: from an ExportedProgram to text of linalg on tensors.

The text is for MLIR 22.1.8, torch-mlir's own MLIR is newer. So the result is
text and never bytecode, without locations where nobody asks for them, and what
22.1.8 would misread or cannot parse is refused here.
"""

import contextlib
import functools
import gc
import os
import re
import sys
import tempfile

from . import decompositions, literals, lookups, opensizes, recurrences, source
from .errors import ImporterError

#: Dialects of the result; anything else is a left-over of the lowering.
_DIALECTS = {
    "builtin",
    "func",
    "linalg",
    "tensor",
    "arith",
    "math",
    "complex",
    "affine",
    "scf",
    "cf",
    "tm_tensor",
}

_REMEDIES = {
    "ml_program": (
        "the module draws random numbers (dropout?): call module.eval() "
        "before returning it"
    ),
    "torch": (
        "torch-mlir has no lowering for it: write it with simpler ops in the module"
    ),
}


def program_text(program, func_name, report, locations=False):
    """Lowers `program`; returns (text, decomposed ExportedProgram).

    With `locations` the text says where ops come from, as traces of nodes do.
    """
    import torch
    from torch_mlir.extras.fx_decomp_util import get_decomposition_table

    _refuse_random(program)
    report("decomposing")
    table = {
        **get_decomposition_table(),
        **decompositions.table(),
        **lookups.table(),
        **opensizes.table(),
        **recurrences.table(),
    }
    program = _decomposed(program, table)
    _check_outputs(program)
    report("lowering to linalg with torch-mlir")
    while True:
        with _captured_stderr() as diagnostics:
            try:
                module = _lowered(program, func_name)
                break
            except Exception as error:  # the FX importer raises anything
                line = _error_line(diagnostics())
                op, where = _failed_op(line or str(error), program)
                composite = _composite(program, op)
                if composite is None or composite in table:
                    raise _lowering_failure(error, line, program, op, where) from error
        report(f"taking {op} apart, as PyTorch does")
        table[composite] = torch.export.default_decompositions()[composite]
        program = _decomposed(program, table)
    _clean(module)
    if locations:
        _forget_places_of_constants(module)
    text = module.operation.get_asm(enable_debug_info=locations).strip() + "\n"
    # torch-mlir can hang at the interpreter's exit while a module is alive.
    del module
    gc.collect()
    check_text(text)
    return text, program


@contextlib.contextmanager
def dispatcher_asked_once():
    """Where this is entered, torch lists its dispatcher's composite ops once.

    It does so for each namespace of ops, some thirty times for one program: a tenth of
    a second. None is registered meanwhile. For processes that exist to import only.
    """
    from torch._export import utils

    name = "_materialize_cpp_cia_ops"
    ask = getattr(utils, name, None)
    if ask is None:  # Another torch than the pinned one has its own ways.
        yield
        return
    setattr(utils, name, functools.cache(ask))
    try:
        yield
    finally:
        setattr(utils, name, ask)


def _decomposed(program, table):
    try:
        with dispatcher_asked_once():
            return program.run_decompositions(table)
    except Exception as error:
        from .export import export_failure

        raise export_failure(error) from error


def _lowered(program, func_name):
    """The module of torch-mlir."""
    from torch_mlir import fx

    module = fx.export_and_import(
        program,
        output_type="raw",
        func_name=func_name,
        decomposition_table={},
        hooks=literals.hooks(),
    )
    recurrences.expand(module)
    return fx._module_lowering(False, False, fx.OutputType.LINALG_ON_TENSORS, module)


def _forget_places_of_constants(module):
    """Drops the locations of what no argument of the function goes into.

    All who need it share it (what a sum starts with, a mask), and its location is that
    of the first of them: the others would seem to be part of that one.
    """
    from torch_mlir import ir

    def operands(operation):
        yield from operation.operands
        for region in operation.regions:
            for block in region.blocks:
                for inner in block.operations:
                    yield from operands(inner)

    with module.context:
        nowhere = ir.Location.unknown()
    for function in module.body.operations:
        for block in (block for region in function.regions for block in region.blocks):
            computed = set(block.arguments)
            for operation in block.operations:
                if any(value in computed for value in operands(operation)):
                    computed.update(operation.results)
                else:
                    operation.operation.location = nowhere


@contextlib.contextmanager
def _captured_stderr():
    """Yields a function that returns what was written to fd 2 so far.

    torch-mlir's C++ side writes its diagnostics there, not to sys.stderr.
    """
    sys.stderr.flush()
    saved = os.dup(2)
    with tempfile.TemporaryFile() as stream:

        def read():
            sys.stderr.flush()
            stream.seek(0)
            return stream.read().decode(errors="replace")

        os.dup2(stream.fileno(), 2)
        try:
            yield read
        finally:
            os.dup2(saved, 2)
            os.close(saved)


def _refuse_random(program):
    """Refuses what draws random numbers, before minutes go into its lowering."""
    import torch

    for node in program.graph.nodes:
        if not isinstance(node.target, torch._ops.OpOverload) or not node.users:
            continue
        if torch.Tag.nondeterministic_seeded not in node.target.tags or not _draws(node):
            continue
        lines = re.findall(r'File "(.*?)", line (\d+)', node.meta.get("stack_trace") or "")
        where = [(file, int(line)) for file, line in lines if not source.is_library(file)]
        raise ImporterError(
            f"the module draws random numbers by {node.target}",
            "call module.eval() where that is dropout; else pass them as an input: two "
            "calls on the same inputs must give the same",
            where[-1] if where else None,
        )


def _draws(node):
    """Whether an op that may draw random numbers does so with these arguments."""
    schema = node.target._schema.arguments
    given = {each.name: each.default_value for each in schema}
    given |= {each.name: value for each, value in zip(schema, node.args)} | node.kwargs
    if given.get("train", True) is False or given.get("training", True) is False:
        return False
    # Between the layers of a recurrence, of which there may be one.
    if "num_layers" in given and given["num_layers"] == 1:
        return False
    share = given.get("dropout", given.get("dropout_p"))
    return (given.get("p") if share is None and "train" in given else share) != 0


def _check_outputs(program):
    """Refuses results that are no tensors: linalg has none."""
    from torch.export.graph_signature import TensorArgument

    for index, spec in enumerate(program.graph_signature.output_specs):
        if not isinstance(spec.arg, TensorArgument):
            value = getattr(spec.arg, "value", spec.arg)
            raise ImporterError(
                f"forward returns {value!r} as result {index}, which is no tensor",
                "return tensors only; wrap the module in one that drops the rest",
            )


def _walk(module):
    from torch_mlir import ir

    found = []

    def visit(operation):
        found.append(operation.operation)
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    return found


def _drop_numbers(function):
    """Drops arguments for numbers: the import has them as constants."""
    from torch_mlir import ir

    block = function.regions[0].blocks[0]
    for index in reversed(range(len(block.arguments))):
        argument = block.arguments[index]
        if not isinstance(argument.type, ir.ShapedType) and not list(argument.uses):
            block.erase_argument(index)
    old = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)
    new = ir.FunctionType.get([each.type for each in block.arguments], old.results)
    function.attributes["function_type"] = ir.TypeAttr.get(new)
    # One dictionary for each argument, if there is any.
    if len(new.inputs) != len(old.inputs) and "arg_attrs" in function.attributes:
        del function.attributes["arg_attrs"]


def _clean(module):
    """Drops what fastk does not need; refuses what it cannot take."""
    operations = _walk(module)
    left = [op for op in operations if op.name.split(".")[0] not in _DIALECTS]
    if left:
        # The op that says most: terminators and globals only come along.
        left.sort(key=lambda op: op.name.endswith((".yield", ".global")))
        operation = left[0]
        raise ImporterError(
            f"'{operation.name}' is left over after the lowering to linalg",
            _REMEDIES.get(operation.name.split(".")[0], _REMEDIES["torch"]),
            _location(str(operation.location)),
        )
    for operation in operations:
        for name in [a.name if hasattr(a, "name") else a for a in operation.attributes]:
            if name.startswith("torch."):
                del operation.attributes[name]
        if operation.name == "func.func":
            with operation.context:
                _drop_numbers(operation)
    asserts = [op for op in _walk(module) if op.name == "cf.assert"]
    for operation in asserts:
        # torch's own reciprocal gives infinity here and does not stop.
        if "tensor with zero element" in str(operation.attributes["msg"]):
            condition = operation.operands[0].owner
            operation.erase()
            if not list(condition.results[0].uses):
                condition.erase()


def _location(text):
    """The innermost (file, line) outside of libraries in a printed location."""
    lines = [
        (name, int(line))
        for name, line in re.findall(r'"([^"]+\.py)":(\d+)', text)
        if not source.is_library(name)
    ]
    return lines[0] if lines else None


def check_text(text):
    """Refuses text that would compute other values than the module."""
    # Since 2026 MLIR prints i1 constants in hex with a byte per element; 22.1.8
    # reads the same text as a bit per element.
    found = re.search(r'dense<"0x[0-9A-Fa-f]*"> : ((?:tensor|vector)<[^<>]*xi1>)', text)
    if found:
        raise ImporterError(
            f"the module holds a constant of type {found.group(1)}, whose text "
            "MLIR 22 and torch-mlir's MLIR read differently",
            "compute the mask in forward (for instance with torch.arange and a "
            "comparison), or pass it as an input or as a buffer",
        )


    # torch-mlir takes all but one of the sizes that a view makes one for 1.
    for found in re.finditer(
        r"tensor\.cast \S+ : tensor<(\S+?)> to tensor<(\S+?)>", text
    ):
        before, after = (each.split("x") for each in found.groups())
        if ("?", "1") in zip(before, after):
            raise ImporterError(
                "the module makes one dimension of several open ones in a way that "
                f"torch-mlir lowers wrongly: {found[0]}",
                "leave fewer sizes of that input open, or flatten dimensions by "
                "themselves (x.flatten(0, 1)) before others change",
            )
    # The condition of a while_loop is lost on the way, and it would never end.
    if re.search(r"\bscf\.for .* to %c9223372036854775807\b", text):
        raise ImporterError(
            "the module has a while_loop, whose condition torch-mlir drops",
            "write the loop in Python, so that it is unrolled, or keep it outside of "
            "the module",
        )


def _error_line(diagnostics):
    """The first line that tells of an error, or an empty one."""
    return next((line for line in diagnostics.splitlines() if "error:" in line), "")


def _failed_op(text, program):
    """The ATen op behind a failed lowering, and the user's line; None each if unknown."""
    found = re.search(r'name = "torch\.(aten\.[\w.]+)"', text)
    found = found or re.search(r"torch\.(aten\.[\w.]+|prims\.[\w.]+)", text)
    found = found or re.search(r"\b(aten(?:::|\.)[\w.]+)", text)
    op = found.group(1).rstrip(".").replace("::", ".") if found else None
    where = _location(text)
    if where and not op:
        op = _op_at(program, where)
    return op, where or (_node_line(program, op) if op else None)


def _composite(program, op):
    """The overload that is called `op`, if PyTorch writes it with other ops."""
    for node in program.graph.nodes:
        if node.op != "call_function" or not hasattr(node.target, "_can_decompose"):
            continue
        name = str(node.target)
        if op and (name == op or name.startswith(op + ".")) and node.target._can_decompose():
            return node.target
    return None


def _lowering_failure(error, line, program, op, where):
    """What to say of ATen op `op`, which the user's line `where` calls."""
    detail = source.first_line(error)
    if line:
        # The place is said already, and the op's whole print says little more.
        detail = line.partition("error: ")[2].partition(": %")[0]
    remedy = (
        f"write {op or 'it'} with simpler ops in the module, or add a decomposition "
        "to fastk.importer.decompositions"
    )
    if op and _is_of_parametrization(program, op):
        remedy = (
            "it is of a parametrization: give the module with the weights as they are, "
            "by torch.nn.utils.parametrize.remove_parametrizations(layer, name)"
        )
    return ImporterError(
        f"torch-mlir cannot lower {op or 'the module'}: {detail}", remedy, where
    )


def _is_of_parametrization(program, op):
    """Whether what computes a weight from others calls ATen op `op`."""
    return any(
        f"{os.sep}nn{os.sep}utils{os.sep}parametri" in (node.stack_trace or "")
        for node in program.graph.nodes
        if node.op == "call_function" and _is_op(node, op)
    )


def _is_op(node, op):
    target = str(node.target)
    return op in (target, target.rpartition(".")[0])


def _user_frames(node):
    frames = re.findall(r'File "([^"]+)", line (\d+)', node.stack_trace or "")
    return [(f, int(n)) for f, n in frames if not source.is_library(f)]


def _op_at(program, where):
    """The first ATen op of `program` that stems from (file, line) `where`."""
    for node in program.graph.nodes:
        if node.op == "call_function" and where in _user_frames(node):
            return str(node.target)
    return None


def _node_line(program, op):
    """(file, line) of the first node of `program` that calls ATen op `op`."""
    for node in program.graph.nodes:
        if node.op != "call_function" or not _is_op(node, op):
            continue
        frames = _user_frames(node)
        if frames:
            return frames[-1]
    return None
