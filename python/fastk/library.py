# ===- library.py - Compiled models, called from Python -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Calls a library of `fastk-opt --emit=so` on torch tensors, without copies.

    model = fastk.library.Library("model.so")
    result, = model(x, weight)

or as the module that was imported, with its weights by name:

    model = fastk.library.Library("model.so").bind(module)
    with torch.no_grad():
        result = model(x)

A library for the host takes CPU tensors, one for a GPU takes CUDA tensors and works
on torch's current stream: it is ordered with what torch does, and may be captured
into a CUDA graph after `model.prepare()` on that stream.

What it holds on a GPU (code, constants, workspaces) it gives back when it is closed:
by `model.close()`, at the end of `with Library(...) as model:`, or when Python collects
it. Captured graphs that call it must not be replayed afterwards.

A library for the host may have sizes that a call decides, -1 in `model.signature`:
inputs of any such size are taken, results have the size that came out. It may also
fail at run time, and then raises Error with the text that the model has for it.

It also calls the files of `fastk-opt --emit=plan`, by their name (model.plan).

Needs libfastk_runtime.so for what is for a GPU: FASTK_RUNTIME names the file, or it is
the package's own, or in the loader's folders.
"""

import collections
import contextlib
import ctypes
import json
import os
import shutil
import sys
import threading
import weakref

try:
    from .programs import fastk_opt
except ImportError:

    def fastk_opt():
        """Where this file was copied alone, without the package."""
        return shutil.which(os.environ.get("FASTK_OPT") or "fastk-opt")


__all__ = ["BoundLibrary", "Error", "Library"]


class Error(Exception):
    """A call failed; the message says what, why and what to do."""


def dtypes():
    """Torch's types by the names that signatures have."""
    import torch

    return {
        "f64": torch.float64, "f32": torch.float32, "f16": torch.float16,
        "bf16": torch.bfloat16, "i64": torch.int64, "i32": torch.int32,
        "i16": torch.int16, "i8": torch.int8, "i1": torch.bool,
        "complex<f64>": torch.complex128, "complex<f32>": torch.complex64,
    }  # fmt: skip


#: How many open libraries hold a function on a GPU: files loaded twice share it.
_open = collections.Counter()


def _release(key, release):
    """Gives back what a function holds, when nobody else has it open."""
    _open[key] -= 1
    if _open[key] <= 0:
        del _open[key]
        # The process may be ending, and the driver with it.
        with contextlib.suppress(OSError):
            release()


class Library:
    """One function of a compiled model."""

    def __init__(self, path, function="forward"):
        self.name, self.path = function, os.fspath(path)
        self.runtime = None
        self.closed = False
        if self.path.endswith(".plan"):
            self._open_plan()
        else:
            self._open_library()

    def _open_plan(self):
        """Of a file of --emit=plan, by the runtime's own calls."""
        self.runtime = _load_runtime()
        runtime, path = self.runtime, os.fsencode(self.path)
        for name in ("fastk_open", "fastk_find"):
            getattr(runtime, name).restype = ctypes.c_void_p
        runtime.fastk_find.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
        runtime.fastk_signature.restype = ctypes.c_char_p
        for name in ("close", "signature", "prepare", "call"):
            getattr(runtime, f"fastk_{name}").argtypes = [ctypes.c_void_p]
        runtime.fastk_call.argtypes = [ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p)]
        self._declare_runtime()
        runtime.fastk_clear_error()
        self.handle = runtime.fastk_open(path)
        found = self.handle and runtime.fastk_find(self.handle, self.name.encode())
        if not found:
            error = runtime.fastk_last_error().decode(errors="replace")
            if self.handle:
                runtime.fastk_close(self.handle)
            raise Error(error)
        self._release = weakref.finalize(self, runtime.fastk_close, self.handle)
        self._release.atexit = False
        self.signature = json.loads(runtime.fastk_signature(found))
        self.target = self.signature["target"]
        self.entry = lambda pointers: runtime.fastk_call(found, pointers)
        self._prepare = lambda: runtime.fastk_prepare(found)
        self._found = found

    def _open_library(self):
        function, path = self.name, self.path
        if os.environ.get("FASTK_RUNTIME"):
            # Under its own name the model finds it loaded.
            _load_runtime()
        try:
            self.handle = _load(os.path.abspath(path))
        except OSError as error:
            raise Error(_why_not_loaded(path, str(error))) from None
        try:
            text = ctypes.c_char.in_dll(self.handle, f"fastk_signature_{function}")
        except ValueError:
            raise Error(f"{path} has no function '{function}'") from None
        self.signature = json.loads(ctypes.string_at(ctypes.addressof(text)))
        try:
            self.entry = getattr(self.handle, f"fastk_packed_{function}")
        except AttributeError:
            self.entry = getattr(self.handle, f"{function}_packed")
        self.entry.argtypes = [ctypes.POINTER(ctypes.c_void_p)]
        self.target = self.signature.get("target", "host")
        self.error = getattr(self.handle, f"fastk_error_{function}", None)
        if self.target == "host":
            # Libraries of old cannot fail.
            self.entry.restype = ctypes.c_int if self.error else None
            if self.error:
                self.error.argtypes = [ctypes.c_int]
                self.error.restype = ctypes.c_char_p
            return
        self.entry.restype = ctypes.c_int
        # Of the runtime that this library is linked with.
        self.runtime = self.handle
        self._declare_runtime()
        self._prepare = getattr(self.handle, f"fastk_prepare_{function}")
        release = getattr(self.handle, f"fastk_release_{function}")
        release.restype = None
        key = (self.handle._handle, function)
        _open[key] += 1
        self._release = weakref.finalize(self, _release, key, release)
        # With the process goes all that it holds.
        self._release.atexit = False

    def _declare_runtime(self):
        self.runtime.fastk_set_stream.argtypes = [ctypes.c_void_p]
        self.runtime.fastk_set_stream.restype = None
        self.runtime.fastk_last_error.restype = ctypes.c_char_p
        self.runtime.fastk_clear_error.restype = None

    def close(self):
        """Gives back what the function holds on the GPU, once the work that was
        enqueued is done. It cannot be called afterwards."""
        self.closed = True
        if self.runtime:
            self._release()

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()

    def _on_stream(self, call):
        import torch

        self._check_open()
        self.runtime.fastk_set_stream(torch.cuda.current_stream().cuda_stream)
        self.runtime.fastk_clear_error()
        if call():
            raise Error(self.runtime.fastk_last_error().decode())

    def _check_open(self):
        if self.closed:
            raise Error(f"{self.name} is closed: make another Library of its file")

    def prepare(self):
        """Loads the code and makes the workspace of the current stream: before a
        capture, or to pay for it early."""
        if self.runtime:
            self._on_stream(self._prepare)

    def empty(self, device=None):
        """Results to write into; None for one whose size the call decides."""
        import torch

        kinds = dtypes()
        device = device or ("cuda" if self.runtime else "cpu")
        return [
            None
            if -1 in want["shape"]
            else torch.empty(want["shape"], dtype=kinds[want["dtype"]], device=device)
            for want in self.signature["outputs"]
        ]

    def check(self, tensors, wants, what, names=None):
        """Raises Error for what the function does not take; `names` are the user's."""
        import torch

        kinds = dtypes()
        if len(tensors) != len(wants):
            raise Error(f"{self.name} has {len(wants)} {what}s, not {len(tensors)}")
        for index, (tensor, want) in enumerate(zip(tensors, wants)):
            which = names[index] if names else f"{what} {index} of {self.name}"
            if (
                len(tensor.shape) != len(want["shape"])
                or any(w not in (-1, h) for w, h in zip(want["shape"], tensor.shape))
                or tensor.dtype != kinds[want["dtype"]]
            ):
                shape = ", ".join("?" if n == -1 else str(n) for n in want["shape"])
                shape += "," if len(want["shape"]) == 1 else ""
                raise Error(
                    f"{which} is ({shape}) of "
                    f"{want['dtype']}, not {tuple(tensor.shape)} of {tensor.dtype}"
                )
            if not tensor.is_contiguous():
                raise Error(f"{which} is not contiguous: pass tensor.contiguous()")
            if tensor.requires_grad and torch.is_grad_enabled():
                raise Error(
                    f"{which} requires a gradient, and a "
                    "compiled model has none: call it under torch.no_grad(), or pass "
                    "tensor.detach()"
                )
            if tensor.is_cuda != bool(self.runtime):
                raise Error(
                    f"{which} is on {tensor.device}, the "
                    f"library is compiled for {self.target}"
                )

    def addresses(self):
        """(handle, host's function, GPU's function, workspace's bytes) for C.

        The handle is the library's of a program for the host, and the runtime's of a
        plan file, which alone of what is for a GPU has addresses.
        """
        if not self.runtime:
            return self.handle._handle, self.name, None, 0
        return self.runtime._handle, None, self._found, self.signature["workspace"]

    def unchecked(self):
        """What calls it on (inputs, outputs), lists of tensors, as fast as Python can.

        They are what the signature says, contiguous, aligned, and of static sizes. Of a
        plan file the workspace is torch's memory: a call may be captured into a graph.
        """
        if not self.runtime:
            import torch

            # The library has an OpenMP of its own, torch another one: as many threads, and
            # none that spins where torch's are to work (20 times as slow in turns).
            known = threading.local()
            setters = [
                getattr(self.handle, name, lambda count: None)
                for name in ("omp_set_num_threads", "kmp_set_blocktime")
            ]

            def call(inputs, outputs):
                count = torch.get_num_threads()
                if getattr(known, "count", None) != count:
                    for setter, value in zip(setters, (count, 0)):
                        setter(value)
                    known.count = count
                tensors = (*inputs, *outputs)
                addresses = [tensor.data_ptr() for tensor in tensors]
                if code := self.entry((ctypes.c_void_p * len(addresses))(*addresses)):
                    raise Error(f"{self.name}: {self.error(code).decode()}")

            return call
        import torch

        runtime, found = self.runtime, self._found
        runtime.fastk_call_with.argtypes = [ctypes.c_void_p] * 3
        size = self.signature["workspace"]
        current = torch._C._cuda_getCurrentRawStream

        def call(inputs, outputs):
            # Which also keeps the file open for as long as anybody can call.
            self._check_open()
            tensors = (*inputs, *outputs)
            device = tensors[0].device
            addresses = [tensor.data_ptr() for tensor in tensors]
            memory = torch.empty(size, dtype=torch.uint8, device=device) if size else None
            with torch.cuda.device(device):
                runtime.fastk_set_stream(current(device.index))
                if runtime.fastk_call_with(
                    found,
                    (ctypes.c_void_p * len(addresses))(*addresses),
                    memory.data_ptr() if size else None,
                ):
                    error = runtime.fastk_last_error().decode(errors="replace")
                    runtime.fastk_clear_error()
                    raise Error(error)

        return call

    def bind(self, module, sidecar=None):
        """The function as `module`, which it was imported from: a BoundLibrary.

        Args:
          module: a torch.nn.Module. Its parameters and buffers are looked up by name
            at each call, so what is loaded into it later counts.
          sidecar: the importer's OUT.mlir.json; without, that of the library's own
            name beside it (model.mlir.json of model.so).
        """
        from .importer import containers

        if sidecar is None:
            sidecar = os.path.splitext(self.path)[0] + ".mlir.json"
        try:
            with open(sidecar, encoding="utf-8") as file:
                described = json.load(file)
            arguments, results = described["arguments"], described["results"]
            form = described.get("returned")
            outputs = [each for each in results if each["role"] == "output"]
            if form is not None and not containers.is_form(form, len(outputs)):
                raise ValueError(form)
        except OSError as error:
            raise Error(
                f"{sidecar}: {error.strerror}: the importer writes it beside the "
                "model; name it by sidecar="
            ) from None
        except (ValueError, KeyError, TypeError, RecursionError):
            raise Error(f"{sidecar} is none of the importer's files") from None
        for what, wants in (("inputs", arguments), ("outputs", results)):
            if len(wants) != len(self.signature[what]):
                raise Error(
                    f"{sidecar} is of another model: it has {len(wants)} {what}, "
                    f"{self.path} has {len(self.signature[what])}"
                )
        return BoundLibrary(self, module, arguments, results, form)

    def __call__(self, *inputs, out=None, names=None):
        """Returns the list of results, `out` where given; errors call inputs `names`."""
        self._check_open()
        self.check(inputs, self.signature["inputs"], "input", names)
        outputs = self.signature["outputs"]
        if out is None:
            out = self.empty(inputs[0].device if inputs else None)
        elif any(-1 in want["shape"] for want in outputs):
            raise Error(f"{self.name} has results of any size: leave out= out")
        else:
            self.check(out, outputs, "output")
        # The shapes live until the call is over.
        arguments, shapes = [], []
        for tensor, want in zip(inputs, self.signature["inputs"]):
            arguments.append(tensor.data_ptr())
            if -1 in want["shape"]:
                shapes.append((ctypes.c_int64 * tensor.dim())(*tensor.shape))
                arguments.append(ctypes.addressof(shapes[-1]))
        made = []
        for tensor, want in zip(out, outputs):
            if tensor is not None:
                arguments.append(tensor.data_ptr())
                made.append(tensor)
                continue
            result = _SizedResult(want)
            arguments += result.addresses()
            made.append(result)
        pointers = (ctypes.c_void_p * len(arguments))(*arguments)
        if self.runtime:
            self._on_stream(lambda: self.entry(pointers))
        elif code := self.entry(pointers):
            raise Error(f"{self.name}: {self.error(code).decode(errors='replace')}")
        return [
            each.tensor() if isinstance(each, _SizedResult) else each for each in made
        ]


class BoundLibrary:
    """A library that is called as the module that it was imported from.

    It converts nothing: other types or shapes than the imported ones are an Error.
    Buffers that the module updates (running means in training mode) are updated, and
    so are inputs. It returns what the module does, dicts and dataclasses included.
    """

    def __init__(self, library, module, arguments, results, form=None):
        self.library, self.module = library, module
        self.arguments, self.results, self.form = arguments, results, form
        #: What errors call the inputs of the function.
        self.names = [f"{each['role']} '{each['name']}'" for each in arguments]
        for each in arguments:
            if each["role"] != "input":
                self._weight(each)
        #: By result, the argument that it is the new value of; None for an output.
        self.updated = [
            None if each["role"] == "output" else self._updated(each)
            for each in results
        ]

    def _updated(self, result):
        count, name, index = len(self.arguments), result["name"], result.get("argument")
        if index is None:
            # In sidecars from before. An input and a buffer may have one name.
            found = [i for i in range(count) if self.arguments[i]["name"] == name]
            if len(found) == 1:
                return found[0]
        elif isinstance(index, int) and 0 <= index < count:
            return index
        raise Error(
            f"the sidecar does not say which of the {count} arguments '{name}' is that "
            "is updated: import the model again"
        )

    def _check_sizes(self, given):
        """Raises Error where sizes differ that the import has equal."""
        known = {}
        for each in self.arguments:
            tensor = given.get(each["name"])
            for dimension, name in each.get("sizes", {}).items():
                # The library refuses what has other dimensions.
                if int(dimension) >= tensor.dim():
                    continue
                size = tensor.shape[int(dimension)]
                first, whose = known.setdefault(name, (size, each["name"]))
                if size != first:
                    raise Error(
                        f"size '{name}' is {first} in '{whose}' and {size} in "
                        f"'{each['name']}': the model was imported with equal ones"
                    )

    def _weight(self, argument):
        from torch.nn.parameter import is_lazy

        found = self.module
        for part in argument["name"].split("."):
            found = getattr(found, part, None)
        if found is None:
            raise Error(
                f"the module has no {argument['role']} '{argument['name']}', which "
                "the model was imported with: bind a module of the same kind"
            )
        if is_lazy(found):
            raise Error(
                f"the module has not made its {argument['role']} '{argument['name']}' "
                "yet: call the module once before it is bound"
            )
        return found

    def __call__(self, *args, **kwargs):
        import torch

        from .importer import containers, export

        given = {
            name: tensor
            for name, role, tensor in export.arguments_of(self.module, args, kwargs)
            if role == "input"
        }
        wanted = [each["name"] for each in self.arguments if each["role"] == "input"]
        if sorted(given) != sorted(wanted):
            raise Error(
                f"{self.library.name} takes {', '.join(wanted) or 'no tensors'}, not "
                f"{', '.join(given) or 'none'}: numbers and other values are constants "
                "of the import"
            )
        tensors = [
            given[each["name"]] if each["role"] == "input" else self._weight(each)
            for each in self.arguments
        ]
        self._check_sizes(given)
        got = self.library(*tensors, names=self.names)
        outputs = []
        for tensor, updated in zip(got, self.updated):
            if updated is None:
                outputs.append(tensor)
                continue
            with torch.no_grad():
                tensors[updated].copy_(tensor)
        if self.form is not None:
            return containers.put_together(self.form, outputs)
        return outputs[0] if len(outputs) == 1 else tuple(outputs)


def installed(name):
    """The path of one of fastk's libraries: beside that of FASTK_RUNTIME, or of the
    fastk-opt of FASTK_OPT, the package or PATH. None where there is none: the loader's
    folders are left."""
    runtime, tool = os.environ.get("FASTK_RUNTIME"), fastk_opt()
    if runtime:
        folder = os.path.dirname(os.path.abspath(runtime))
    elif tool:
        folder = os.path.join(os.path.dirname(os.path.realpath(tool)), "../lib")
    else:
        return None
    path = os.path.join(os.path.normpath(folder), name)
    return path if os.path.exists(path) else None


def _load_runtime():
    """libfastk_runtime: that of FASTK_RUNTIME, an installed one, or the loader's."""
    path = os.environ.get("FASTK_RUNTIME") or installed("libfastk_runtime.so")
    try:
        return ctypes.CDLL(path or "libfastk_runtime.so", mode=ctypes.RTLD_GLOBAL)
    except OSError as error:
        which = "FASTK_RUNTIME" if path else "libfastk_runtime.so"
        raise Error(
            f"{which} cannot be loaded: {error}; let FASTK_RUNTIME name "
            "libfastk_runtime.so, or unset it for libraries for the host"
        ) from None


def _load(path):
    """A library, with the runtime that it needs where the loader does not know it."""
    name = "libfastk_runtime.so"
    try:
        return ctypes.CDLL(path)
    except OSError as error:
        if name not in str(error) or not installed(name):
            raise
    _load_runtime()
    return ctypes.CDLL(path)


def _why_not_loaded(path, reason):
    if not os.path.exists(path):
        return f"{path}: no such file; fastk-opt --emit=so -o {path} writes it"
    text = f"{path} cannot be loaded: {reason}"
    if "libfastk_runtime" in reason:
        text += "; let FASTK_RUNTIME name libfastk_runtime.so, or LD_LIBRARY_PATH its folder"
    return text


class _SizedResult:
    """A result whose size the call decides: it makes the memory, we free it."""

    def __init__(self, want):
        self.dtype = want["dtype"]
        self.memory = ctypes.c_void_p()
        self.shape = (ctypes.c_int64 * len(want["shape"]))()

    def addresses(self):
        return [ctypes.addressof(self.memory), ctypes.addressof(self.shape)]

    def tensor(self):
        import torch

        dtype = dtypes()[self.dtype]
        size = torch.Size(self.shape)
        address, count = self.memory.value, size.numel()
        if count == 0:
            if address:
                _free(address)
            return torch.empty(size, dtype=dtype)
        kind = ctypes.c_char * (count * dtype.itemsize)
        view = kind.from_address(address)
        # Torch keeps the view for as long as any tensor is on its memory.
        weakref.finalize(view, _free, address).atexit = False
        return torch.frombuffer(view, dtype=dtype).reshape(size)


def _free(address):
    ctypes.CDLL(None).free(ctypes.c_void_p(address))


if __name__ == "__main__":
    sys.exit(
        "error: fastk.library is no command: import it from Python\n"
        "remedy: see docs/importer.md, or pydoc fastk.library"
    )
