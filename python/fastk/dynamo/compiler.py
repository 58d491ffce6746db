# ===- compiler.py - What fastk-opt says of a graph, and makes of a region -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""What fastk-opt says of a graph, and what it makes of a region."""

import dataclasses
import hashlib
import json
import os
import subprocess
import tempfile

import torch

from .. import programs
from . import work
from .errors import Failed, Unsupported

#: Seconds that one run of fastk-opt may take.
TIMEOUT = 600
#: The list of workloads that is read here (docs/formats/workloads.md).
FORM = ("fastk.workloads", 1)


@dataclasses.dataclass(frozen=True)
class Settings:
    """What decides which winners may be used.

    Attributes:
      target: "host", or "cuda:sm_90a".
      precision: the loosest error classes: what torch's own flags allow.
      deterministic: whether results must be the same bits each time.
      banks: folders; empty: fastk-opt's default.
    """

    target: str
    precision: str = "ieee"
    deterministic: bool = False
    banks: tuple = ()

    def options(self, winners="any"):
        # Where a winner was measured does not count: the duel measures it here.
        options = [f"--target={self.target}", f"--precision={self.precision}"]
        options += [f"--bank={folder}" for folder in self.banks]
        options += [f"--winners-from={winners}"]
        return options + ["--require-deterministic"] * self.deterministic


def allowed_precision(device):
    """The classes that torch's flags allow on a device, as --precision has them. What
    has both has the class of products: so where torch allows TF32 in products alone,
    nothing has it."""
    if device.type != "cuda":
        return "ieee"
    # The older flags (allow_tf32) set these, and raise where both kinds are in use.
    products, convolutions = (
        each.fp32_precision == "tf32"
        for each in (torch.backends.cuda.matmul, torch.backends.cudnn.conv)
    )
    if not convolutions:
        return "ieee"
    return "tf32" if products else "ieee,convolution=tf32"


def target_of(device):
    """The target's name of a device, or None where fastk has none."""
    if device.type == "cpu":
        return "host"
    if device.type != "cuda" or torch.version.hip:
        return None
    major, minor = torch.cuda.get_device_capability(device)
    # Machine code for Hopper's own instructions runs there alone.
    return f"cuda:sm_{major}{minor}" + ("a" if (major, minor) == (9, 0) else "")


def program():
    """The path of fastk-opt; raises Failed where there is none."""
    found = programs.fastk_opt()
    if not found:
        named = os.environ.get("FASTK_OPT")
        raise Failed(
            f"FASTK_OPT names {named}, which is no program: let it name fastk-opt"
            if named
            else "there is no fastk-opt: let FASTK_OPT name it, or put it in PATH"
        )
    return os.path.abspath(found)


def _run(text, options, output):
    """Runs fastk-opt on a text; the workloads that it tells."""
    with tempfile.TemporaryDirectory(prefix="fastk-torch-") as folder:
        source = os.path.join(folder, "graph.mlir")
        listed = os.path.join(folder, "workloads.json")
        with open(source, "w", encoding="utf-8") as file:
            file.write(text)
        command = [program(), source, *options]
        command += [f"--list-workloads={listed}", "-o", output]
        code, said = _call(command)
        if code:
            lines = [line for line in said.splitlines() if "error:" in line]
            line = (lines or said.splitlines() or ["it said nothing"])[0]
            # Negative: a signal, as subprocess has it.
            how = f"was ended by signal {-code}" if code < 0 else f"left with {code}"
            raise Failed(f"fastk-opt {how}: {line[:500]}")
        try:
            with open(listed, encoding="utf-8") as file:
                found = json.load(file)
            if (found["format"], found["version"]) != FORM:
                raise ValueError
            return found["workloads"]
        except (OSError, ValueError, LookupError, TypeError):
            raise Failed(
                f"{command[0]} does not list workloads as this version of fastk reads "
                "them: let FASTK_OPT name one of the same version"
            ) from None


def _call(command):
    """(exit code, stderr) of a program; raises Failed where it cannot be called."""
    try:
        process = subprocess.Popen(
            command,
            text=True,
            errors="replace",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            # With all that it starts.
            start_new_session=True,
        )
    except OSError as error:
        raise Failed(
            f"{command[0]} cannot be run: {error.strerror}: let FASTK_OPT name fastk-opt"
        ) from None
    with process, work.watched(process):
        try:
            said = process.communicate(timeout=TIMEOUT)[1]
            return process.returncode, said
        except BaseException as error:
            work.end(process)
            process.wait()
            if isinstance(error, subprocess.TimeoutExpired):
                raise Failed(f"fastk-opt takes longer than {TIMEOUT} s") from None
            raise


def workloads_of(text, settings):
    """What fastk-opt knows of each workload of a graph."""
    return _run(text, settings.options(), os.devnull)


def compile_text(text, settings, store, check, winners="any"):
    """(its workloads, path of what a text became, its digest); raises Failed.

    check: raises Unsupported for workloads of which nothing is to be kept.
    """
    kind = "so" if settings.target == "host" else "plan"
    with tempfile.TemporaryDirectory(prefix="fastk-torch-") as folder:
        output = os.path.join(folder, f"region.{kind}")
        found = _run(text, [*settings.options(winners), f"--emit={kind}"], output)
        check(found)
        with open(output, "rb") as file:
            data = file.read()
    digest = hashlib.sha256(data).hexdigest()
    return found, store.keep(f"programs/{digest}.{kind}", data), digest


def compile_region(text, key, settings, store):
    """Compiles a region that is to be one workload of this key.

    Returns (path of what it became, its digest); raises Unsupported or Failed.
    """

    def check(found):
        hits = [each["key"] for each in found if each["outcome"] == "hit"]
        if hits != [key] or len(found) != 1:
            raise Unsupported(
                "by itself it is another workload: "
                + (", ".join(each["name"] for each in found) or "none")
            )

    return compile_text(text, settings, store, check)[1:]
