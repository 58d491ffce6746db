# ===- flashinfer.py - Definitions of FlashInfer-Bench -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""python -m fastk.flashinfer DEFINITION.json --axis M=4096 -o DIR: what
`fastk-bank export --format=flashinfer` reads of a Definition.

DIR/model.mlir is the Definition's reference, its function run(), imported for its own
sizes and those that --axis gives to open axes; DIR/model.mlir.json says which argument
is which input.
"""

import argparse
import json
import os
import re
import sys

from . import commandline
from .importer import ImportedModule, ImporterError, child, import_in_process

#: What torch calls a type, by the Definition's word.
DTYPES = {
    name: name
    for name in ("float32", "float16", "bfloat16", "int64", "int32", "int16", "int8", "bool")
}


def read(path):
    """The Definition of a file, its fields there. Raises ImporterError."""
    try:
        with open(path, encoding="utf-8") as file:
            definition = json.load(file)
    except (OSError, ValueError) as error:
        raise ImporterError(f"'{path}' cannot be read: {error}") from error
    fields = {"name": str, "axes": dict, "inputs": dict, "outputs": dict, "reference": str}
    for field, kind in fields.items():
        if not isinstance(definition, dict) or not isinstance(definition.get(field), kind):
            raise ImporterError(
                f"'{path}' has no '{field}'",
                "give a Definition of FlashInfer-Bench, as its datasets have them",
            )
    return definition


def sizes_of(definition, given):
    """{axis: size}: those of the Definition, and those given to its open axes."""
    sizes, missing = {}, []
    for name, axis in definition["axes"].items():
        value = axis.get("value") if axis.get("type") == "const" else given.get(name)
        if value is None:
            missing.append(name)
        sizes[name] = value
    if missing:
        raise ImporterError(
            f"the Definition leaves the axes {', '.join(missing)} open",
            "a winner is for one size: " + " ".join(f"--axis={name}=SIZE" for name in missing),
        )
    for name in given:
        if definition["axes"].get(name, {}).get("type") != "var":
            raise ImporterError(f"the Definition has no open axis '{name}'")
    return sizes


def input_specs(definition, sizes):
    """[(name, shape, dtype)] of the inputs, in their order."""
    specs = []
    for name, tensor in definition["inputs"].items():
        if not name.isidentifier():
            raise ImporterError(f"input '{name}' has no name that Python knows")
        if tensor.get("shape") is None:
            raise ImporterError(
                f"input '{name}' is a scalar", "only tensors can be operands of a winner"
            )
        unknown = [axis for axis in tensor["shape"] if axis not in sizes]
        if unknown:
            raise ImporterError(f"input '{name}' has an axis '{unknown[0]}' that is not defined")
        if tensor.get("dtype") not in DTYPES:
            raise ImporterError(f"input '{name}' is of {tensor.get('dtype')}, which fastk has not")
        specs.append((name, [sizes[axis] for axis in tensor["shape"]], tensor["dtype"]))
    return specs


def module_of(definition, specs):
    """A module of PyTorch whose forward() is the reference's run()."""
    import torch

    scope = {}
    try:
        exec(compile(definition["reference"], "<reference>", "exec"), scope)
    except Exception as error:
        raise ImporterError(f"the reference cannot be run: {error}") from error
    if not callable(scope.get("run")):
        raise ImporterError("the reference has no function 'run'")
    names = ", ".join(name for name, _, _ in specs)
    # Named as the inputs are: the importer names arguments after parameters.
    exec(f"def forward(self, {names}):\n    return run({names})\n", scope)
    return type("Definition", (torch.nn.Module,), {"forward": scope["forward"]})()


def import_definition(definition, given):
    """The reference, imported."""
    specs = input_specs(definition, sizes_of(definition, given))

    def example():
        import torch

        tensors = tuple(
            torch.zeros(shape, dtype=getattr(torch, DTYPES[dtype])) for _, shape, dtype in specs
        )
        return module_of(definition, specs), tensors, {}

    def task(report):
        return import_in_process(example, report=report)

    return ImportedModule(**child.run(task, definition["name"], progress=False))


def _axes(texts):
    axes = {}
    for text in texts:
        found = re.fullmatch(r"(\w+)=(\d+)", text)
        if not found:
            raise ImporterError(f"--axis={text} is not NAME=SIZE", "write --axis=M=4096")
        axes[found[1]] = int(found[2])
    return axes


def parser():
    result = argparse.ArgumentParser(
        prog="python -m fastk.flashinfer",
        description="Imports a Definition of FlashInfer-Bench for fastk-bank export.",
    )
    result.add_argument("definition", metavar="DEFINITION.json", help="the Definition")
    result.add_argument("-o", "--output", metavar="DIR", required=True, help="where it goes")
    result.add_argument(
        "--axis",
        action="append",
        default=[],
        metavar="NAME=SIZE",
        help="the size of an open axis; repeatable",
    )
    commandline.use_exit_code_1(result)
    return result


def main(argv=None):
    commandline.open_streams()
    options = parser().parse_args(argv)
    try:
        imported = import_definition(read(options.definition), _axes(options.axis))
        os.makedirs(options.output, exist_ok=True)
        imported.write(os.path.join(options.output, "model.mlir"))
    except ImporterError as error:
        print(error, file=sys.stderr)
        return 1
    except OSError as error:
        print(f"error: '{options.output}' cannot be written: {error.strerror}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    code = main()
    sys.stderr.flush()
    # torch-mlir can hang in the interpreter's exit.
    os._exit(code)
