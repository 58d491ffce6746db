# ===- models.py - The client for language models, and its peers -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""What the tests of the client for language models share."""

import importlib.util
import json
import os
import subprocess

from compiled import BIN
from conftest import ROOT

INPUTS = ROOT / "unittests" / "LLM" / "Inputs"
ASK = BIN.parent / "unittests" / "fastk-ask"

KEY = "sk-Vr7qLx0ZkT3mWb9yPd5c"


def load_scripted_server():
    """The module of unittests, which is in no package."""
    path = INPUTS / "scripted_server.py"
    spec = importlib.util.spec_from_file_location("scripted_server", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def ask(model, prompt, *, system="", schema=None):
    """The reply of fastk's client to one prompt; no key may be in it."""
    assert ASK.exists(), f"{ASK} is missing: run scripts/build.sh"
    command = [ASK, model, f"--system={system}"]
    if schema:
        command.append(f"--schema={json.dumps(schema)}")
    # Nothing of the user's: their keys would go to the tests' servers.
    environment = {"PATH": os.environ["PATH"], "TEST_KEY": KEY}
    result = subprocess.run(
        command,
        input=prompt,
        text=True,
        capture_output=True,
        check=False,
        env=environment,
        timeout=300,
    )
    assert result.returncode == 0, result.stderr
    assert KEY not in result.stdout + result.stderr
    return json.loads(result.stdout)
