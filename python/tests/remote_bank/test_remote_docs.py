# ===- test_remote_docs.py - The commands of docs/remote-bank.md -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""They are run against the nginx that the page sets up, which all of these tests use."""

import os
import subprocess
import sys

from banks import BIN, ROOT
from servers import Nginx


def test_the_page(tmp_path):
    with Nginx(tmp_path, port=18473):
        command = [sys.executable, ROOT / "scripts" / "run-doc-examples.py"]
        command += [ROOT / "docs" / "remote-bank.md", "--dir", tmp_path / "scratch"]
        command += ["--only", "python/tests/remote_bank/test_remote_docs.py"]
        environment = dict(
            os.environ,
            PATH=os.pathsep.join([str(BIN), os.environ["PATH"]]),
            HOME=str(tmp_path),
            FASTK_CACHE_DIR=str(tmp_path / "cache"),
        )
        ran = subprocess.run(command, env=environment, text=True, capture_output=True)
        assert ran.returncode == 0, ran.stdout + ran.stderr
