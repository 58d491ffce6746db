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
import shutil
import subprocess
import tempfile

import torch

from .errors import Failed, Unsupported

#: Seconds that one run of fastk-opt may take.
TIMEOUT = 600


@dataclasses.dataclass(frozen=True)
class Settings:
    """What decides which winners may be used.

    Attributes:
      target: "host", or "cuda:sm_90a".
      precision: the loosest error class: what torch's own flags allow.
      deterministic: whether results must be the same bits each time.
      banks: folders; empty: fastk-opt's default.
    """

    target: str
    precision: str = "ieee"
    deterministic: bool = False
    banks: tuple = ()

    def options(self):
        # Where a winner was measured does not count: the duel measures it here.
        options = [f"--target={self.target}", f"--precision={self.precision}"]
        options += [f"--bank={folder}" for folder in self.banks]
        options += ["--winners-from=any"]
        return options + ["--require-deterministic"] * self.deterministic


def allowed_precision():
    """The class that torch's flags allow for every op."""
    matmul = torch.backends.cuda.matmul.allow_tf32
    return "tf32" if matmul and torch.backends.cudnn.allow_tf32 else "ieee"


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
    named = os.environ.get("FASTK_OPT")
    found = shutil.which(named or "fastk-opt")
    if not found:
        raise Failed("there is no fastk-opt: name it by FASTK_OPT, or put it in PATH")
    return os.path.abspath(found)


def _run(text, settings, output, *options):
    """Runs fastk-opt on a text; the workloads that it tells."""
    with tempfile.TemporaryDirectory(prefix="fastk-torch-") as folder:
        source = os.path.join(folder, "graph.mlir")
        listed = os.path.join(folder, "workloads.json")
        with open(source, "w", encoding="utf-8") as file:
            file.write(text)
        command = [program(), source, *settings.options(), *options]
        command += [f"--list-workloads={listed}", "-o", output]
        try:
            process = subprocess.run(
                command,
                text=True,
                errors="replace",
                capture_output=True,
                check=False,
                stdin=subprocess.DEVNULL,
                timeout=TIMEOUT,
            )
        except subprocess.TimeoutExpired:
            raise Failed(f"fastk-opt takes longer than {TIMEOUT} s") from None
        if process.returncode:
            lines = [line for line in process.stderr.splitlines() if "error:" in line]
            said = (lines or process.stderr.splitlines() or ["nothing"])[0]
            raise Failed(f"fastk-opt left with {process.returncode}: {said[:500]}")
        with open(listed, encoding="utf-8") as file:
            return json.load(file)["workloads"]


def workloads_of(text, settings):
    """What fastk-opt knows of each workload of a graph."""
    return _run(text, settings, os.devnull)


def compile_region(text, key, settings, store):
    """Compiles a region that is to be one workload of this key.

    Returns (path of what it became, its digest); raises Unsupported or Failed.
    """
    kind = "so" if settings.target == "host" else "plan"
    with tempfile.TemporaryDirectory(prefix="fastk-torch-") as folder:
        output = os.path.join(folder, f"region.{kind}")
        found = _run(text, settings, output, f"--emit={kind}")
        hits = [each["key"] for each in found if each["outcome"] == "hit"]
        if hits != [key] or len(found) != 1:
            raise Unsupported(
                "by itself it is another workload: " + ", ".join(e["name"] for e in found)
            )
        with open(output, "rb") as file:
            data = file.read()
    digest = hashlib.sha256(data).hexdigest()
    name = f"programs/{digest}.{kind}"
    if not os.path.exists(store.path(name)):
        store.write_bytes(name, data)
    return store.path(name), digest
