# ===- test_registration.py - The name by which torch finds the backend -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""torch.compile(model, backend="fastk"), whoever imported what before."""

import pytest
from worlds import home, inductor_cache, run_script  # noqa: F401

#: With the entry point of an installed package, whether this one is installed or not.
SCRIPT = """
import sys
sys.path.insert(0, {folder!r})
import torch
{before}
torch.compile(torch.nn.ReLU(), backend="fastk")  # looks the name up
from fastk.dynamo import fastk
from torch._dynamo.backends import registry
assert registry.lookup_backend("fastk") is fastk
print("fastk" in torch._dynamo.list_backends())
"""

BEFORE = {
    "nothing": "",
    "imported": "import fastk.dynamo",
    "listed and imported": "torch._dynamo.list_backends(); import fastk.dynamo",
}


@pytest.fixture
def installed(tmp_path):
    folder = tmp_path / "installed"
    (folder / "fastk-0.dist-info").mkdir(parents=True)
    (folder / "fastk-0.dist-info" / "METADATA").write_text("Name: fastk\nVersion: 0\n")
    (folder / "fastk-0.dist-info" / "entry_points.txt").write_text(
        "[torch_dynamo_backends]\nfastk = fastk.dynamo:fastk\n"
    )
    return folder


# In a checkout that is not installed all other tests of this folder run.
@pytest.mark.parametrize("before", BEFORE)
def test_of_an_installed_package(home, installed, before):  # noqa: F811
    said = run_script(SCRIPT.format(folder=str(installed), before=BEFORE[before]))
    assert said == "True\n"
