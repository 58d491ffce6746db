# ===- __init__.py - The importer's Python API -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Imports PyTorch modules as MLIR text: linalg on tensors, weights as arguments.

    from fastk.importer import import_module
    imported = import_module(torch.nn.Linear(8, 4), (torch.randn(2, 8),))
    print(imported.text)

On the command line: python -m fastk.importer FILE.py:NAME -o model.mlir.
Neither needs torch before it is called; both run torch-mlir in a child process.
"""

import contextlib
import dataclasses
import functools
import gc
import importlib
import json
import sys

from . import child, files, pins
from .errors import ImporterError
from .pins import TORCH, TORCH_MLIR

__all__ = ["ImportedModule", "ImporterError", "import_file", "import_module"]


@dataclasses.dataclass(frozen=True)
class ImportedModule:
    """An imported module.

    Attributes:
      text: the MLIR text, one function.
      sidecar: what the function's arguments and results are, as the JSON that
        docs/importer.md describes.
    """

    text: str
    sidecar: dict

    def sidecar_text(self):
        """The sidecar as it is written to disk: JSON, one argument a line."""
        fields = []
        for key, value in self.sidecar.items():
            if isinstance(value, list):
                lines = ",\n".join("    " + json.dumps(item) for item in value)
                fields.append(f"  {json.dumps(key)}: [\n{lines}\n  ]")
            else:
                fields.append(f"  {json.dumps(key)}: {json.dumps(value)}")
        return "{\n" + ",\n".join(fields) + "\n}\n"

    def write(self, path, sidecar=True):
        """Writes `path` and, unless told not to, `path`.json; both or none."""
        contents = {path: self.text}
        if sidecar:
            contents[f"{path}.json"] = self.sidecar_text()
        files.write_all(contents)


def import_module(
    module, example_inputs, func_name="forward", progress=True, dynamic_shapes=None
):
    """Imports a torch.nn.Module.

    Args:
      module: the module, as it is: call module.eval() before for inference.
      example_inputs: a tuple of tensors (or a dict by argument name). Shapes and
        types become the function's; values are used only if the model reads them.
      func_name: the name of the function in the result.
      progress: write progress to stderr once the import takes long.
      dynamic_shapes: {input: {dimension: name}}: sizes that a call decides, such as
        {"x": {0: "batch"}}. Inputs are named as in the sidecar; equal names are
        equal sizes.

    Returns an ImportedModule; raises ImporterError.
    """
    _check_func_name(func_name)

    def task(report):
        from . import source

        def build():
            args, kwargs = source.check_example(
                module, example_inputs, "import_module is given"
            )
            return module, args, kwargs

        return import_in_process(build, func_name, report, dynamic_shapes)

    return _in_child(task, type(module).__name__, progress)


def import_file(spec, func_name="forward", progress=True, dynamic_shapes=None):
    """Imports what the function of "FILE.py:NAME" returns.

    The function takes no arguments and returns (module, example_inputs). It is
    called under fake tensors, so neither its weights nor its inputs take memory.
    The options are those of import_module.

    Returns an ImportedModule; raises ImporterError.
    """
    from . import source

    source.split(spec)
    _check_func_name(func_name)

    def task(report):
        report("loading torch and the file")
        _prepare()
        function = source.load(spec)
        return import_in_process(
            lambda: source.call(function), func_name, report, dynamic_shapes
        )

    return _in_child(task, spec, progress)


def import_in_process(
    build,
    func_name="forward",
    report=lambda line, note=False: None,
    dynamic_shapes=None,
    locations=False,
    check=pins.check,
):
    """Imports in this process what `build` returns; what the child runs.

    For processes that exist to import only: it loads torch-mlir and its LLVM.
    `locations`: the text says where ops come from. `check`: raises ImporterError
    where the versions that are installed do not do.
    Returns {"text", "sidecar"}; raises ImporterError.
    """
    _prepare(check)
    load_torch_mlir()
    from . import containers, export, lower

    try:
        program, arguments, form = export.export(build, report, dynamic=dynamic_shapes)
        text, program = lower.program_text(program, func_name, report, locations)
    except ImporterError as error:
        # A state that is written, but no buffer: else nothing holds it.
        if "Pls register it as buffer" not in str(error.__cause__):
            raise
        program, arguments, form = export.export(
            build, report, register=True, dynamic=dynamic_shapes
        )
        text, program = lower.program_text(program, func_name, report, locations)
    # A weight may have the name of an input.
    open_sizes = {
        ("input", name): each for name, each in (dynamic_shapes or {}).items()
    }
    sidecar = {
        "format": "fastk.import",
        "version": 1,
        "function": func_name,
        "torch": TORCH,
        "torch_mlir": TORCH_MLIR,
        "arguments": [
            {
                "index": index,
                "name": name,
                "role": role,
                "shape": [
                    -1 if dimension in open_sizes.get((role, name), {}) else size
                    for dimension, size in enumerate(tensor.shape)
                ],
                "dtype": export.dtype_name(tensor.dtype),
            }
            for index, (name, role, tensor) in enumerate(arguments)
        ],
        "results": _results(program, arguments),
    }
    for argument in sidecar["arguments"]:
        if sizes := open_sizes.get((argument["role"], argument["name"])):
            argument["sizes"] = {
                str(dimension): size for dimension, size in sizes.items()
            }
    if not containers.is_plain(form):
        sidecar["returned"] = form
    return {"text": text, "sidecar": sidecar}


def _in_child(task, label, progress):
    load_once()
    return ImportedModule(**child.run(task, label, progress))


def load_once():
    """Loads what torch.export needs, once for all imports of a process that has torch.

    Else each child loads it anew: more than half of the time of a small import.
    """
    if "torch" in sys.modules:
        pins.check()
        with quick_loading():
            _load_exporter()


def _load_exporter():
    importlib.import_module("torch._dynamo")
    importlib.import_module("torch.export._trace")


@functools.cache
def load_torch_mlir():
    """Loads the rest of what an import needs, in a process that exists to import only.

    Each import ends in a collection of garbage, for torch-mlir's sake. From then on
    it passes over what is loaded, a million objects that stay: 0.2 seconds.
    """
    from . import lower

    with quick_loading(), lower.dispatcher_asked_once():
        _load_exporter()
        importlib.import_module("torch_mlir.fx")
        # It keeps what it collects from torch.
        table = importlib.import_module("torch_mlir.extras.fx_decomp_util")
        table.get_decomposition_table()
    gc.freeze()


@contextlib.contextmanager
def quick_loading():
    """Modules are loaded without looking for garbage: a sixth of torch's seconds.

    What they make stays.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _prepare(check=pins.check):
    check()
    with quick_loading():
        import torch

    # A fork has no copy of its parent's thread pool; one thread uses none.
    torch.set_num_threads(1)


def _results(program, arguments):
    """The sidecar's results: updated weights first, then what forward returns."""
    from torch.export.graph_signature import TensorArgument

    from . import export

    values = {node.name: node.meta.get("val") for node in program.graph.nodes}
    inputs = [
        spec.arg.name
        for spec in program.graph_signature.input_specs
        if spec.kind.name == "USER_INPUT" and isinstance(spec.arg, TensorArgument)
    ]
    assert len(inputs) == len(arguments), (inputs, [a[0] for a in arguments])
    results, outputs = [], 0
    for spec in program.graph_signature.output_specs:
        if not isinstance(spec.arg, TensorArgument):
            continue
        more = {}
        if spec.kind.name == "USER_OUTPUT":
            name, role = f"output{outputs}", "output"
            outputs += 1
        else:
            index, role = inputs.index(spec.target), "updated"
            name, more = arguments[index][0], {"argument": index}
        value = values[spec.arg.name]
        results.append(
            {
                "index": len(results),
                "name": name,
                "role": role,
                "shape": export.shape_of(value),
                "dtype": export.dtype_name(value.dtype),
                **more,
            }
        )
    return results


def _check_func_name(name):
    if not (name.isascii() and name.isidentifier()):
        raise ImporterError(
            f"'{name}' cannot name a function",
            "use letters, digits and underscores, not beginning with a digit",
        )
