# ===- export.py - Module to ExportedProgram -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""torch.export with the weights as arguments.

Parameters and buffers become the first arguments of the imported function, in
the order of named_parameters() and named_buffers(), then come the inputs. So
kernels depend on shapes only, a file holds no weights, and fake tensors
suffice: importing needs neither memory nor real weights.
"""

import contextlib
import inspect

from . import containers, source
from .errors import ImporterError

_DTYPES = {
    "float64": "f64",
    "float32": "f32",
    "float16": "f16",
    "bfloat16": "bf16",
    "int64": "i64",
    "int32": "i32",
    "int16": "i16",
    "int8": "i8",
    "uint8": "ui8",
    "bool": "i1",
}

#: What a function raises whatever tensors are: a wrong name, a package that is missing.
_NOT_OF_TENSORS = (NameError, ImportError, SyntaxError)


class NeedsRealTensors(Exception):
    """The module cannot be exported with fake tensors; the message says why."""


def dtype_name(dtype):
    """torch.float32 -> "f32"; a type MLIR has no short name for keeps torch's."""
    name = str(dtype).removeprefix("torch.")
    return _DTYPES.get(name, name)


def weights_of(module):
    """{name: (role, tensor)} in the order of the imported arguments."""
    named = {name: ("parameter", p) for name, p in module.named_parameters()}
    named.update((name, ("buffer", b)) for name, b in module.named_buffers())
    return named


def arguments_of(module, args, kwargs):
    """The arguments of the imported function as [(name, role, tensor)].

    Inputs that are no tensors are constants of the import and no arguments.
    """
    import torch

    found = [(name, role, t) for name, (role, t) in weights_of(module).items()]
    try:
        names = [
            p.name
            for p in inspect.signature(module.forward).parameters.values()
            if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
        ]
    except (TypeError, ValueError):
        names = []
    named = [
        (names[index] if index < len(names) else f"input{index}", arg)
        for index, arg in enumerate(args)
    ]
    for name, arg in [*named, *kwargs.items()]:
        for path, leaf in containers.leaves(arg):
            if isinstance(leaf, torch.Tensor):
                found.append((name + path, "input", leaf))
    return found


def shape_of(tensor):
    """The sizes of a tensor, -1 where a call decides."""
    return [size if isinstance(size, int) else -1 for size in tensor.shape]


def _dynamic_shapes(inputs, count, wanted):
    """torch.export's dynamic_shapes for what _wrap makes of `count` weights.

    `inputs`: [(name, tensor)]. `wanted`: {input: {dimension: name of the size}}; equal
    names are equal sizes.
    """
    import torch

    known = dict(inputs)
    for name, sizes in wanted.items():
        if name not in known:
            raise ImporterError(
                f"there is no input '{name}' that could be dynamic",
                f"the inputs are {', '.join(known)}",
            )
        for dimension in sizes:
            if not 0 <= dimension < known[name].dim():
                raise ImporterError(
                    f"input '{name}' has no dimension {dimension}",
                    f"it has {known[name].dim()}, counted from 0",
                )
    sizes = {name for each in wanted.values() for name in each.values()}
    dims = {name: torch.export.Dim(name) for name in sizes}
    chosen = [
        {dimension: dims[size] for dimension, size in wanted.get(name, {}).items()}
        or None
        for name, _ in inputs
    ]
    return [None] * count, chosen


def _wrap(module, names, args, kwargs, forms):
    """A module of (weights, inputs), two lists of tensors, that returns a list of them.

    What else `args` and `kwargs` hold is constant. A call adds the form of what
    `module` returns to `forms`.
    """
    import torch

    class TensorsAsArguments(torch.nn.Module):
        def __init__(self):
            super().__init__()
            # Not as a submodule: its parameters must not be lifted again.
            object.__setattr__(self, "wrapped", module)

        def forward(self, weights, inputs):
            given = iter(inputs)
            called, named = containers.replaced(
                (args, kwargs),
                lambda leaf: next(given) if isinstance(leaf, torch.Tensor) else leaf,
            )
            result = torch.func.functional_call(
                self.wrapped, dict(zip(names, weights)), called, named
            )
            form, tensors = containers.taken_apart(result)
            forms.append(form)
            return tensors

    return TensorsAsArguments()


@contextlib.contextmanager
def _replacing_conversions():
    """Within it module.half(), .to(dtype) and their like replace weights by others.

    torch swaps the contents of fake ones in place, and fails for what refers to them.
    """
    import torch

    original, made, depth = torch.nn.Module._apply, {}, 0

    def convert(function, tensor):
        # Shared weights stay shared; the key's owner is kept, so that no other
        # tensor gets its number.
        if id(tensor) not in made:
            with torch.no_grad():
                made[id(tensor)] = (tensor, function(tensor))
        return made[id(tensor)][1]

    def apply(self, function, recurse=True):
        nonlocal depth
        depth += 1
        try:
            for child in self.children() if recurse else ():
                child._apply(function)
            for name, old in self._parameters.items():
                if old is None:
                    continue
                new = convert(function, old)
                if new is not old and not isinstance(new, torch.nn.Parameter):
                    new = torch.nn.Parameter(new, old.requires_grad)
                    made[id(old)] = (old, new)
                self._parameters[name] = new
            for name, old in self._buffers.items():
                if old is not None:
                    self._buffers[name] = convert(function, old)
        finally:
            depth -= 1
            if depth == 0:
                made.clear()
        return self

    torch.nn.Module._apply = apply
    try:
        yield
    finally:
        torch.nn.Module._apply = original


def _register_tensors(module):
    """Makes buffers of the tensors that modules hold as plain attributes."""
    import torch

    for each in module.modules():
        for name, value in list(vars(each).items()):
            if isinstance(value, torch.Tensor):
                delattr(each, name)
                each.register_buffer(name, value, persistent=False)


def _refuse_wrappers(module):
    """Refuses modules that are no Python any more, or that stand for another one."""
    import torch

    for part in module.modules():
        kind = type(part)
        if isinstance(part, torch.jit.ScriptModule):
            raise ImporterError(
                "the module was made by torch.jit, which torch.export cannot read",
                "give the module that torch.jit.script or torch.jit.trace was given",
            )
        if isinstance(
            part, (torch.nn.DataParallel, torch.nn.parallel.DistributedDataParallel)
        ):
            raise ImporterError(
                f"the module is in a {kind.__name__}, which calls copies of it",
                f"give what is in it: the .module of the {kind.__name__}",
            )
        if kind.__module__.startswith("torch.ao.nn.quantized"):
            raise ImporterError(
                f"the module is quantised: the weights of its {kind.__name__} are packed "
                "for a library of PyTorch's",
                "give the module as it was before torch.ao.quantization",
            )


def make_lazy_weights(module, args, kwargs, fake=False):
    """Calls a module once that has the shapes of its weights from its inputs."""
    import torch
    from torch.nn.parameter import is_lazy

    if not any(map(is_lazy, module.state_dict(keep_vars=True).values())):
        return
    if fake:
        # A call that fails would leave the module half made.
        raise NeedsRealTensors("the first call of the module makes its weights")
    try:
        with torch.no_grad():
            module(*args, **kwargs)
    except Exception as error:  # a module raises anything
        raise ImporterError(
            "the module fails in its first call, which makes its weights: "
            f"{source.first_line(error)}",
            "check that module(*example_inputs) runs in PyTorch itself",
            source.user_line(error),
        ) from error


def _export_once(build, fake_mode, register=False, dynamic=None):
    """Exports; returns (ExportedProgram, [(name, role, tensor)], form of the result)."""
    import torch

    def fake(tensor):
        # Contiguous and on the CPU, whatever the user's tensor is: the imported
        # function has no layouts and no devices.
        return torch.empty(tensor.shape, dtype=tensor.dtype, device="cpu")

    with torch.no_grad(), fake_mode or contextlib.nullcontext():
        with _replacing_conversions() if fake_mode else contextlib.nullcontext():
            # A function may train what it returns.
            with torch.enable_grad():
                module, args, kwargs = build()
        _refuse_wrappers(module)
        make_lazy_weights(module, args, kwargs, fake=fake_mode is not None)
        if register:
            _register_tensors(module)
        arguments = arguments_of(module, args, kwargs)
        for name, role, tensor in arguments:
            if str(tensor.dtype).removeprefix("torch.") not in _DTYPES:
                raise ImporterError(
                    f"the {role} '{name}' has type {tensor.dtype}",
                    f"fastk takes {', '.join(_DTYPES)}",
                )
        named = weights_of(module)
        weights = [tensor.detach() for _, tensor in named.values()]
        inputs = [(name, tensor) for name, role, tensor in arguments if role == "input"]
        tensors = [tensor for _, tensor in inputs]
        if fake_mode:
            weights, tensors = list(map(fake, weights)), list(map(fake, tensors))
        forms = []
        program = torch.export.export(
            _wrap(module, list(named), args, kwargs, forms),
            (weights, tensors),
            strict=False,
            dynamic_shapes=_dynamic_shapes(inputs, len(named), dynamic)
            if dynamic
            else None,
        )
        return program, arguments, forms[-1]


def _is_out_of_memory(error):
    return isinstance(error, MemoryError) or "allocate memory" in str(error)


def export(build, report, register=False, dynamic=None):
    """Exports what `build` returns, first with fake tensors, then with real ones.

    Args:
      build: called under the fake mode, returns (module, args, kwargs).
      report: called with a line of text when a phase begins, and with True if the
        user should read it however short the import is.
      register: makes buffers of tensors that modules hold as plain attributes.
      dynamic: {input: {dimension: name of the size}}, sizes that a call decides.
    """
    from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode

    report("exporting with torch.export")
    failed = None
    try:
        exported = _export_once(
            build, FakeTensorMode(allow_non_fake_inputs=True), register, dynamic
        )
        program = exported[0]
        empty = [n for n, t in program.constants.items() if isinstance(t, FakeTensor)]
        if not empty:
            return exported
        # A tensor that is no registered buffer is a constant of the result, so
        # its values are needed, and a fake tensor has none.
        reason = f"{empty[0]} is a constant, not a registered buffer"
    except NeedsRealTensors as error:
        reason = str(error)
    except source.BuildError as error:
        # What it writes and prints it would do twice, to fail in the same way.
        if isinstance(error.__cause__, _NOT_OF_TENSORS):
            raise
        failed, reason = error, source.first_line(error.__cause__)[:120]
    except ImporterError:
        raise
    except Exception as error:  # torch.export raises anything
        if not source.is_fake_tensor_failure(error):
            raise export_failure(error) from error
        reason = source.first_line(error)[:120]
    report(f"exporting again with real tensors ({reason})", True)
    try:
        return _export_once(build, None, register, dynamic)
    except source.BuildError as error:
        if failed and _is_out_of_memory(error.__cause__):
            # There is no memory for the model: the first error is the user's.
            raise failed from failed.__cause__
        raise
    except ImporterError:
        raise
    except Exception as error:
        raise export_failure(error) from error


def _constraint(text):
    """What the module asks of a size, of torch's account of it."""
    lines = [line.strip(" -") for line in text.splitlines() if line.strip()]
    return " ".join(lines[1:2] or lines)[:300]


def export_failure(error):
    """The ImporterError for an exception of torch.export."""
    import re

    where = source.user_line(error)
    op = getattr(error, "func", None)
    if op is None:
        found = re.search(
            r"\b(?:torch\.ops\.)?(aten[.:]{1,2}\w+(?:\.\w+)?)", str(error)
        )
        op = found.group(1) if found else None
    message = f"torch.export fails: {source.first_line(error)}"
    if op is not None:
        message += f" (at {op})"
    kind = type(error).__name__
    if "FakeTensor" in str(error):
        remedy = (
            "the model needs a tensor's value to know a size, as packed sequences do: "
            "compute it outside of the module, or pad and mask"
        )
    elif kind in ("GuardOnDataDependentSymNode", "DataDependentOutputException") or (
        "data-dependent" in str(error).lower()
    ):
        remedy = (
            "the model reads a tensor's value to decide what to do: replace "
            "if/while and .item() on tensors by torch.where or a constant"
        )
    elif "Constraints violated" in str(error):
        reason = _constraint(str(error))
        message = f"torch.export fails: {reason}"
        remedy = "leave that size as it is in the example, or change the module"
        if "must always be equal" in reason:
            remedy = "give these sizes one name: equal names are equal sizes"
        elif "in the specified range" in reason:
            remedy = (
                "the module itself limits that size: leave it as it is in the example, "
                "and import the model once for each size"
            )
        elif re.search(r"constant \([01]\)", reason):
            remedy = (
                "give an example of size 2 or more: torch takes 0 and 1 for constants"
            )
    elif kind in ("TypeError", "RuntimeError", "ValueError", "AttributeError"):
        remedy = "check that module(*example_inputs) runs in PyTorch itself"
    else:
        remedy = "see https://pytorch.org/docs/stable/export.html for what export takes"
    return ImporterError(message, remedy, where)
