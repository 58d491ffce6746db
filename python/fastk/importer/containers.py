# ===- containers.py - What holds a module's tensors -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Inputs and results that hold tensors: taken apart for torch.export, put together again.

torch.export takes tuples, lists, dicts and what is registered with torch's pytree.
Here dataclasses count as well, and among the results the caches of transformers,
numbers and None. An imported function has tensors only; what else a module returns is
in the sidecar, as a form:

    an integer                            the tensor of that number
    {"tuple": [...]}, {"list": [...]}     forms
    {"dict": {key: form}}
    {"type": "package:Name", "fields": {name: form}}   a named tuple or a dataclass;
                                                       torch.return_types are such tuples
    {"value": ...}                        a number, a string or None
"""

import copy
import dataclasses
import sys
import types

from .errors import ImporterError

#: What a result may hold beside tensors.
_VALUES = (bool, int, float, str, type(None))


def fields_of(value):
    """{name: value} of a dataclass, None for all else."""
    if not dataclasses.is_dataclass(value) or isinstance(value, type):
        return None
    names = [field.name for field in dataclasses.fields(value)]
    return {name: getattr(value, name) for name in names if hasattr(value, name)}


def leaves(value, path=""):
    """Yields (path, leaf) of all that `value` holds, in a fixed order."""
    from torch.utils import _pytree as pytree

    for keys, leaf in pytree.tree_leaves_with_path(value):
        here, fields = path + pytree.keystr(keys), fields_of(leaf)
        if fields is None:
            yield here, leaf
            continue
        for name, each in fields.items():
            yield from leaves(each, f"{here}.{name}")


def replaced(value, function):
    """`value` with function(leaf) for each leaf, called in the order of leaves()."""
    from torch.utils import _pytree as pytree

    def replace(leaf):
        fields = fields_of(leaf)
        if fields is None:
            return function(leaf)
        result = copy.copy(leaf)
        for name, each in fields.items():
            # Also where the class is frozen.
            object.__setattr__(result, name, replaced(each, function))
        return result

    return pytree.tree_map(replace, value)


def taken_apart(value):
    """(form, [tensor]) of what a module returns; raises ImporterError."""
    tensors = []
    form = _form(value, tensors)
    if not tensors:
        raise ImporterError(
            f"forward returns {_described(value)}, and so no tensor",
            "return the tensors that it computes",
        )
    return form, tensors


def _form(value, tensors):
    import torch

    if isinstance(value, torch.Tensor):
        tensors.append(value)
        return len(tensors) - 1
    if isinstance(value, _VALUES):
        return {"value": value}
    names = _element_names(type(value))
    if names is not None:
        return _named(value, dict(zip(names, value)), tensors)
    if isinstance(value, (tuple, list)):
        kind = "tuple" if isinstance(value, tuple) else "list"
        return {kind: [_form(each, tensors) for each in value]}
    fields = fields_of(value)
    if fields is not None:
        # The outputs of transformers are dicts, too, and leave out what is None.
        short = isinstance(value, dict)
        held = {k: v for k, v in fields.items() if not (short and v is None)}
        return _named(value, held, tensors)
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {"dict": {key: _form(each, tensors) for key, each in value.items()}}
    if _is_cache(value):
        layers = [(layer.keys, layer.values) for layer in value.layers]
        return _form(tuple(layers), tensors)
    raise ImporterError(
        f"forward returns {_described(value)}, which holds no tensors that the importer "
        "knows",
        "return tensors, or tuples, lists, dicts by name and dataclasses of them; wrap "
        "the module in one that drops the rest",
    )


def _is_return_type(kind):
    """Whether it is one of torch.return_types, which are tuples with names."""
    return issubclass(kind, tuple) and hasattr(kind, "n_sequence_fields")


def _element_names(kind):
    """The names of a named tuple's elements, None for all else."""
    if _is_return_type(kind):
        return kind.__match_args__
    return getattr(kind, "_fields", None) if issubclass(kind, tuple) else None


def _described(value):
    import torch

    if isinstance(value, _VALUES):
        return repr(value)
    if isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool)):
        return f"{value}, a number that depends on an open size"
    if isinstance(value, dict):
        return "a dict with keys that are no strings"
    return f"an object of type {type(value).__name__}"


def _named(value, fields, tensors):
    kind = type(value)
    return {
        "type": f"{kind.__module__}:{kind.__qualname__}",
        "fields": {name: _form(each, tensors) for name, each in fields.items()},
    }


def _is_cache(value):
    """Whether it is one of transformers' caches of keys and values, by layer."""
    return hasattr(value, "layers") and any(
        (base.__module__, base.__name__) == ("transformers.cache_utils", "Cache")
        for base in type(value).__mro__
    )


def is_plain(form):
    """Whether a form is one tensor, or a tuple of several.

    Of these the number of tensors says all, and a sidecar has no form. A tuple of one
    is told from a tensor by its form.
    """
    if isinstance(form, int):
        return True
    held = form.get("tuple", ())
    return len(held) > 1 and all(isinstance(each, int) for each in held)


def is_form(form, count):
    """Whether it is what taken_apart() gives where there are `count` tensors."""
    match form:
        case {"value": held}:
            return isinstance(held, _VALUES)
        case {"dict": dict(held)} | {"type": str(), "fields": dict(held)}:
            return all(is_form(each, count) for each in held.values())
        case {"tuple": list(held)} | {"list": list(held)}:
            return all(is_form(each, count) for each in held)
    return type(form) is int and 0 <= form < count


def put_together(form, tensors):
    """What a module returned, of a form and other tensors.

    A class that cannot be found or made here becomes a types.SimpleNamespace.
    """
    match form:
        case {"value": held}:
            return held
        case {"dict": held}:
            return {key: put_together(each, tensors) for key, each in held.items()}
        case {"tuple": held}:
            return tuple(put_together(each, tensors) for each in held)
        case {"list": held}:
            return [put_together(each, tensors) for each in held]
        case {"type": name, "fields": held}:
            fields = {key: put_together(each, tensors) for key, each in held.items()}
            return _made(name, fields)
    return tensors[form]


def _made(name, fields):
    """An object of the class `name`, "package:Name", or a types.SimpleNamespace."""
    package, _, path = name.partition(":")
    found = sys.modules.get(package)
    for part in path.split("."):
        # Not by getattr, for which some packages import more.
        found = getattr(found, "__dict__", {}).get(part)
    # A sidecar may come from anywhere: it must not choose what else is called.
    if isinstance(found, type) and (
        dataclasses.is_dataclass(found) or _element_names(found) is not None
    ):
        try:
            if _is_return_type(found):
                return found(fields.values())
            return found(**fields)
        except Exception:  # a class may check its fields
            pass
    return types.SimpleNamespace(**fields)
