#===- lower.py - ExportedProgram to linalg text -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===----------------------------------------------------------------------===#
"""torch-mlir: from an ExportedProgram to text of linalg on tensors.

The text is for MLIR 22.1.8, torch-mlir's own MLIR is newer. So the result is
text and never bytecode, without locations, and what 22.1.8 would misread or
cannot parse is refused here.
"""

import gc
import re

from . import decompositions, source
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
}

_REMEDIES = {
    "tm_tensor": (
        "cumsum, cumprod, sort, topk and scatter have no linalg form: compute "
        "them outside the module, or a cumsum as a product with a triangular matrix"
    ),
    "ml_program": (
        "the module draws random numbers (dropout?): call module.eval() "
        "before returning it"
    ),
    "torch": (
        "torch-mlir has no lowering for it: write it with simpler ops in the module"
    ),
}


def program_text(program, func_name, report):
    """Lowers `program`; returns (text, decomposed ExportedProgram)."""
    from torch_mlir import fx
    from torch_mlir.compiler_utils import TorchMlirCompilerError
    from torch_mlir.extras.fx_decomp_util import get_decomposition_table

    report("decomposing")
    table = {**get_decomposition_table(), **decompositions.table()}
    try:
        program = program.run_decompositions(table)
    except Exception as error:
        from .export import export_failure

        raise export_failure(error) from error
    report("lowering to linalg with torch-mlir")
    try:
        module = fx.export_and_import(
            program,
            output_type="linalg-on-tensors",
            func_name=func_name,
            decomposition_table={},
        )
    except TorchMlirCompilerError as error:
        raise _lowering_failure(str(error), program) from error
    except Exception as error:  # the FX importer raises anything
        raise _lowering_failure(source.first_line(error), program) from error
    _clean(module)
    text = module.operation.get_asm(enable_debug_info=False).strip() + "\n"
    # torch-mlir can hang at the interpreter's exit while a module is alive.
    del module
    gc.collect()
    check_text(text)
    return text, program


def _walk(module):
    from torch_mlir import ir

    found = []

    def visit(operation):
        found.append(operation.operation)
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    return found


def _clean(module):
    """Drops what fastk does not need; refuses what it cannot take."""
    for operation in _walk(module):
        dialect = operation.name.split(".")[0]
        if dialect not in _DIALECTS:
            raise ImporterError(
                f"'{operation.name}' is left over after the lowering to linalg",
                _REMEDIES.get(dialect, _REMEDIES["torch"]),
                _location(str(operation.location)),
            )
        for name in [a.name if hasattr(a, "name") else a for a in operation.attributes]:
            if name.startswith("torch."):
                del operation.attributes[name]
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
    """Refuses constants that MLIR 22.1.8 would read as other values."""
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


def _lowering_failure(message, program):
    """Names the ATen op and the user's line behind a failed lowering."""
    found = re.search(r"torch\.operator[^\n]*?\"torch\.(aten\.[\w.]+)\"", message)
    found = found or re.search(r"'?torch\.((?:aten|prims|prim)\.[\w.]+)", message)
    found = found or re.search(r"\b(aten[.:]+[\w.]+)", message)
    if not found:
        found = re.search(r"failed to legalize operation '([\w.]+)'", message)
    op = found.group(1).rstrip(".").replace("::", ".") if found else None
    where = None
    if op:
        where = _node_line(program, op)
    if where is None:
        where = _location(message)
    diagnostics = [
        line.strip()
        for line in message.splitlines()
        if "error:" in line or "note:" in line
    ]
    detail = diagnostics[0] if diagnostics else message.strip().splitlines()[0]
    # The location is said already, and better.
    detail = re.sub(r"^.*?error: ", "", detail)
    return ImporterError(
        (f"torch-mlir cannot lower {op}: " if op else "torch-mlir fails: ") + detail,
        (f"write {op} with simpler ops in the module" if op else "simplify the module")
        + ", or add a decomposition to fastk.importer.decompositions",
        where,
    )


def _node_line(program, op):
    """(file, line) of the first node of `program` that calls ATen op `op`."""
    for node in program.graph.nodes:
        target = str(node.target)
        if node.op != "call_function" or not (
            target == op or target.rpartition(".")[0] == op
        ):
            continue
        frames = re.findall(r'File "([^"]+)", line (\d+)', node.stack_trace or "")
        frames = [(f, int(n)) for f, n in frames if not source.is_library(f)]
        if frames:
            return frames[-1]
    return None
