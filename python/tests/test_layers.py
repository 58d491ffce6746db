# ===- test_layers.py - What a folder may use -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""scripts/check-layers.py finds each violation that is planted."""

import subprocess
import sys

import pytest
from conftest import ROOT

TABLE = """\
| layer | may use | what it is |
|---|---|---|
| Ground | | |
| Middle | Ground | |
| Top | Ground, Middle | |
"""

#: A tree that keeps to the table.
TREE = {
    "docs/architecture.md": TABLE,
    "include/fastk/Ground/Ground.h": "",
    "include/fastk/Middle/Middle.h": '#include "fastk/Ground/Ground.h"\n',
    "lib/Ground/CMakeLists.txt": "add_fastk_library(FastkGround Ground.cpp)\n",
    "lib/Ground/Ground.cpp": '#include "fastk/Ground/Ground.h"\n',
    "lib/Middle/CMakeLists.txt": (
        "add_fastk_library(FastkMiddle Sub/Middle.cpp LINK FastkGround)\n"
    ),
    "lib/Middle/Private.h": "",
    "lib/Middle/Sub/Middle.cpp": '#include "../Private.h"\n#include "Private.h"\n',
    "lib/Top/CMakeLists.txt": "add_fastk_library(FastkTop Top.cpp LINK FastkMiddle)\n",
    "lib/Top/Top.cpp": '#include "fastk/Middle/Middle.h"\n#include "mlir/IR/Region.h"\n',
}


def check(folder, tree):
    for name, text in tree.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return subprocess.run(
        [sys.executable, ROOT / "scripts" / "check-layers.py", "--root", folder],
        text=True,
        capture_output=True,
        check=False,
    )


def test_this_checkout_keeps_to_its_table():
    result = check(ROOT, {})
    assert (result.returncode, result.stderr) == (0, "")


def test_a_tree_that_keeps_to_the_table(tmp_path):
    result = check(tmp_path, TREE)
    assert (result.returncode, result.stderr) == (0, "")


@pytest.mark.parametrize(
    "name, text, said",
    [
        (
            "lib/Ground/Ground.cpp",
            '\n#include "fastk/Middle/Middle.h"\n',
            "lib/Ground/Ground.cpp:2: Ground includes fastk/Middle/Middle.h, "
            "and may not use Middle",
        ),
        (
            "include/fastk/Ground/Ground.h",
            '#include "fastk/Top/Top.h"\n',
            "include/fastk/Ground/Ground.h:1: Ground includes fastk/Top/Top.h, "
            "and may not use Top",
        ),
        (
            "lib/Top/Top.cpp",
            '#include "../Middle/Private.h"\n',
            "lib/Top/Top.cpp:1: Top includes ../Middle/Private.h, "
            "a private header of another folder",
        ),
        (
            "lib/Top/Top.cpp",
            '#include "Private.h"\n',
            "lib/Top/Top.cpp:1: Top includes Private.h, a private header of Middle",
        ),
        (
            "lib/Ground/CMakeLists.txt",
            "add_fastk_library(FastkGround Ground.cpp\n  LINK FastkTop)\n",
            "lib/Ground/CMakeLists.txt:1: Ground links FastkTop, and may not use Top",
        ),
        (
            "lib/Top/CMakeLists.txt",
            "add_fastk_library(FastkTop Top.cpp)\n"
            "target_include_directories(FastkTop PRIVATE\n"
            "  ${PROJECT_SOURCE_DIR}/lib/Middle)\n",
            "lib/Top/CMakeLists.txt:2: Top takes the private headers of Middle",
        ),
        (
            "docs/architecture.md",
            TABLE.replace("| Ground | |", "| Ground | Top |"),
            "docs/architecture.md:3: Ground may use Top, which is no row above",
        ),
        (
            "docs/architecture.md",
            TABLE.replace("| Top | Ground, Middle | |\n", ""),
            "lib/Top: docs/architecture.md has no row for it",
        ),
        ("docs/architecture.md", "", "has no table"),
    ],
)
def test_a_violation_is_found(name, text, said, tmp_path):
    result = check(tmp_path, {**TREE, name: text})
    assert result.returncode == 1
    assert said in result.stderr
    assert "1 found" in result.stderr or "Top" in said or "no table" in said


#: The rooms of one folder of it.
ROOMS = """
| room of lib/Top | may use | what it is |
|---|---|---|
| Attic | | |
| Cellar | Attic | |
"""

HOUSE = {
    **TREE,
    "docs/architecture.md": TABLE + ROOMS,
    "lib/Top/Attic/Attic.h": "",
    "lib/Top/Attic/Deep/Attic.cpp": '#include "Attic.h"\n',
    "lib/Top/Cellar/Cellar.h": '#include "Attic/Attic.h"\n',
}


def test_rooms_that_keep_to_their_table(tmp_path):
    result = check(tmp_path, HOUSE)
    assert (result.returncode, result.stderr) == (0, "")


@pytest.mark.parametrize(
    "name, text, said",
    [
        (
            "lib/Top/Attic/Attic.h",
            '\n#include "Cellar/Cellar.h"\n',
            "lib/Top/Attic/Attic.h:2: Attic may not use Cellar",
        ),
        (
            "lib/Top/Attic/Attic.h",
            '#include "../Cellar/Cellar.h"\n',
            "lib/Top/Attic/Attic.h:1: Attic may not use Cellar",
        ),
        (
            "lib/Top/Porch/Porch.h",
            "",
            "lib/Top/Porch/Porch.h: the table of rooms of lib/Top has no row for Porch",
        ),
        (
            "docs/architecture.md",
            TABLE + ROOMS.replace("| Attic | |", "| Attic | Cellar |"),
            "Attic may use Cellar, which is no row above; a room uses those above it",
        ),
    ],
)
def test_a_violation_between_rooms_is_found(name, text, said, tmp_path):
    result = check(tmp_path, {**HOUSE, name: text})
    assert result.returncode == 1
    assert said in result.stderr
    assert "1 found" in result.stderr
