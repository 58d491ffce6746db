# ===- reference.py - What an export needs of a problem -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""python -m fastk.kernelbench.reference FILE.py -o DIR: what
`fastk-bank export --format=kernelbench` reads of a problem.

DIR/model.mlir and its sidecar are the problem's model, imported as KernelBench's
harness builds it. DIR/reference.py is its class Model, called Reference, with what it
needs of the file and without its forward(): whoever derives from it draws the same
weights after the same seed.
"""

import argparse
import ast
import os
import sys

from .. import commandline
from ..importer import ImportedModule, ImporterError, child, import_in_process, source
from . import problems

#: Names of the exported file: a problem's own of these would be lost.
RESERVED = {
    "Reference", "ModelNew", "KERNEL", "BINDING", "INPUTS", "OUTPUTS", "WORKSPACE_BYTES",
    "NVCC_FLAGS", "check_operands", "run", "extension", "inspect", "load_inline",
    "_WITHOUT_HEADERS",
}  # fmt: skip
#: What the harness casts weights and inputs to, by fastk's names.
DTYPES = {"f32": "float32", "f16": "float16", "bf16": "bfloat16"}


class _Rewrite(ast.NodeTransformer):
    """Renames Model, and leaves out what documents and what says nothing."""

    def visit_Name(self, node):
        if node.id == "Model":
            node.id = "Reference"
        return node

    def visit_Pass(self, node):
        # KernelBench's static checker refuses the word.
        return ast.copy_location(ast.Expr(ast.Constant(...)), node)

    def generic_visit(self, node):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            node.body = [each for each in body if not _is_text(each)]
            if not node.body and not isinstance(node, ast.Module):
                node.body = [ast.Expr(ast.Constant(...))]
        return super().generic_visit(node)


def _is_text(node):
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def _defined(node):
    """The names that a statement of a file gives to something."""
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return {(each.asname or each.name).split(".")[0] for each in node.names}
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        return {node.name}
    return {
        each.id
        for each in ast.walk(node)
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)
    }


def _used(node):
    return {
        each.id
        for each in ast.walk(node)
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load)
    }


def reference_source(text, path):
    """The text of the class Reference and what it needs. Raises ImporterError."""
    try:
        file = ast.parse(text)
    except (SyntaxError, ValueError) as error:
        raise ImporterError(f"'{path}' is no Python: {error}") from error
    model = next(
        (each for each in file.body if isinstance(each, ast.ClassDef) and each.name == "Model"),
        None,
    )
    if model is None:
        raise ImporterError(
            f"'{path}' has no class 'Model'",
            "a problem has a class Model, get_init_inputs() and get_inputs()",
        )
    model.body = [
        each
        for each in model.body
        if not (isinstance(each, ast.FunctionDef) and each.name == "forward")
    ]
    wanted, kept = _used(model), {id(model)}
    # Until nothing more is needed: what comes later in a file may use what is before.
    while True:
        more = [
            each for each in file.body if id(each) not in kept and _defined(each) & wanted
        ]
        if not more:
            break
        kept |= {id(each) for each in more}
        wanted |= set().union(*(_used(each) for each in more))
    file.body = [
        each
        for each in file.body
        if id(each) in kept or isinstance(each, ast.ImportFrom) and each.module == "__future__"
    ]
    clashes = sorted(set().union(*map(_defined, file.body)) & RESERVED)
    if clashes:
        raise ImporterError(
            f"'{path}' calls something {clashes[0]}, as the export does",
            "give it another name in a copy of the problem",
        )
    model.name = "Reference"
    return ast.unparse(ast.fix_missing_locations(_Rewrite().visit(file))) + "\n"


def _import(problem, dtype):
    def example():
        import torch

        to = getattr(torch, DTYPES[dtype])
        module, inputs = problems.build(problem)
        # Labels as well: so does the harness.
        inputs = tuple(
            each.to(to) if isinstance(each, torch.Tensor) else each for each in inputs
        )
        return (
            module.to(to),
            *source.check_example(module, inputs, f"{problem.name} gives"),
        )

    def task(report):
        return import_in_process(example, report=report)

    return ImportedModule(**child.run(task, problem.name, progress=False))


def write(path, folder, dtype="f32"):
    """Writes model.mlir, model.mlir.json and reference.py of a problem into a folder."""
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    except (OSError, UnicodeDecodeError) as error:
        raise ImporterError(f"'{path}' cannot be read: {error}") from error
    reference = reference_source(text, path)
    problem = problems.Problem(os.path.basename(path), 0, os.path.abspath(path))
    imported = _import(problem, dtype)
    try:
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, "reference.py"), "w", encoding="utf-8") as file:
            file.write(reference)
    except OSError as error:
        raise ImporterError(f"'{folder}' cannot be written: {error.strerror}") from error
    imported.write(os.path.join(folder, "model.mlir"))


def parser():
    result = argparse.ArgumentParser(
        prog="python -m fastk.kernelbench.reference",
        description="Imports a problem of KernelBench for fastk-bank export.",
    )
    result.add_argument("problem", metavar="FILE.py", help="a class Model and its inputs")
    result.add_argument("-o", "--output", metavar="DIR", required=True, help="where it goes")
    result.add_argument(
        "--dtype",
        choices=sorted(DTYPES),
        default="f32",
        help="what weights and inputs are cast to, as by the harness (default: f32)",
    )
    commandline.use_exit_code_1(result)
    return result


def main(argv=None):
    commandline.open_streams()
    options = parser().parse_args(argv)
    try:
        write(options.problem, options.output, options.dtype)
    except ImporterError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    code = main()
    sys.stderr.flush()
    # torch-mlir can hang in the interpreter's exit.
    os._exit(code)
