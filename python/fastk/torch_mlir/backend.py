# ===- backend.py - torch-mlir's two methods -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""compile and load, the two methods of torch-mlir's LinalgOnTensorsBackend.

The class is no subclass of it: torch-mlir keeps that one in its test package,
which no wheel has, and asks for nothing but the two methods.
"""

import dataclasses
import os
import shlex
import shutil
import signal
import subprocess
import tempfile

from .. import programs
from .errors import Error
from .invoker import Invoker
from .text import module_text

__all__ = ["CompiledModel", "FastkLinalgOnTensorsBackend"]


@dataclasses.dataclass(frozen=True)
class CompiledModel:
    """What `compile` makes and `load` takes. Can be pickled, and used many times.

    Attributes:
      library: the bytes of the shared library.
      summary: what fastk-opt said on the way: hits and misses, warnings.
    """

    library: bytes
    summary: str

    def __repr__(self):
        said = (self.summary.strip().splitlines() or ["nothing was said"])[-1]
        return f"CompiledModel(a library of {len(self.library)} bytes; {said})"


class FastkLinalgOnTensorsBackend:
    """Compiles linalg on tensors with fastk-opt.

    Args:
      banks: folders of winners, first wins. None: fastk-opt's default.
      precision: the loosest error class accepted: ieee, tf32 or half.
      options: further options of fastk-opt, as "--require-deterministic".
      fastk_opt: the program. None: $FASTK_OPT, the package's own, or that in PATH.
      timeout: seconds that a compile may take. None: any.
    """

    def __init__(
        self, banks=None, precision="ieee", options=(), fastk_opt=None, timeout=None
    ):
        self.fastk_opt = fastk_opt
        self.timeout = timeout
        self.options = [f"--precision={precision}", *options]
        if banks is not None:
            self.options += [f"--bank={folder}" for folder in banks]

    def compile(self, module):
        """Compiles `module`, linalg on tensors, as an ir.Module of torch-mlir or text.

        Returns a CompiledModel; raises Error with what fastk-opt said. Then the
        module lies in a file that the error names.
        """
        program = self.program()
        folder = tempfile.mkdtemp(prefix="fastk-torch-mlir-")
        keep = False
        try:
            source = os.path.join(folder, "model.mlir")
            library = os.path.join(folder, "model.so")
            with open(source, "w", encoding="utf-8") as file:
                file.write(module_text(module))
            command = [program, source, *self.options, "--emit=so", "-o", library]
            try:
                process = subprocess.run(
                    command,
                    text=True,
                    errors="replace",
                    capture_output=True,
                    check=False,
                    stdin=subprocess.DEVNULL,
                    timeout=self.timeout,
                )
            except subprocess.TimeoutExpired:
                keep = True
                raise _failure(
                    f"fastk-opt takes longer than {self.timeout} s", command, source
                ) from None
            except OSError as error:
                raise Error(
                    f"cannot run {program}: {error.strerror}: name fastk-opt by "
                    "fastk_opt=, by FASTK_OPT, or put it in PATH"
                ) from None
            if process.returncode:
                keep = True
                raise _failure(_said(process), command, source)
            with open(library, "rb") as file:
                return CompiledModel(file.read(), process.stderr)
        finally:
            if not keep:
                shutil.rmtree(folder, ignore_errors=True)

    def load(self, artifact):
        """Loads a CompiledModel: an Invoker with a method for each function."""
        return Invoker(artifact.library)

    def program(self):
        """The path of fastk-opt; raises Error where there is none."""
        named = self.fastk_opt or os.environ.get("FASTK_OPT")
        found = programs.fastk_opt(self.fastk_opt) or named
        if not found:
            raise Error(
                "there is no fastk-opt: name it by fastk_opt=, by FASTK_OPT, or put "
                "it in PATH"
            )
        # It is started in another folder.
        return os.path.abspath(found)


def _said(process):
    """What ended a fastk-opt that failed: its diagnostics, or the signal."""
    text = process.stderr.strip()
    if process.returncode < 0:
        name = signal.Signals(-process.returncode).name
        return f"fastk-opt crashed with {name}\n{text[-2000:]}"
    # A diagnostic repeats the op, which may hold a whole constant.
    lines = text.split("\n")
    lines = [line if len(line) < 1000 else line[:1000] + " …" for line in lines]
    return "\n".join(lines[:40]) or f"fastk-opt left with {process.returncode}"


def _failure(said, command, source):
    return Error(
        f"{said}\nthe module is in {source}; run: {shlex.join(command)}", source
    )
