# ===- test_sizes.py - How long files and functions may be -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""scripts/check-sizes.py finds what is planted, and nothing in this checkout."""

import subprocess
import sys

import pytest
from conftest import ROOT


def check(folder, tree):
    for name, text in tree.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return subprocess.run(
        [sys.executable, ROOT / "scripts" / "check-sizes.py", "--root", folder],
        text=True,
        capture_output=True,
        check=False,
    )


def function(signature, lines):
    """A function of so many lines; not every brace of its body is code."""
    odd = ['  log("{");', "  // }", "  if (c == '{') {", "    ++depth;", "  }"]
    body = (odd * lines)[: lines - 2 - (lines - 2) % 5]
    body += ["  step();"] * (lines - 2 - len(body))
    return "\n".join([signature + " {", *body, "}"]) + "\n"


def table(begin, lines, end="};"):
    rows = ["      {1, {2, 3}},"] * (lines - 4)
    return "\n".join(["int names() {", f"  {begin} {{", *rows, f"  {end}", "}"]) + "\n"


def test_this_checkout_is_short_enough():
    result = check(ROOT, {})
    assert (result.returncode, result.stderr) == (0, "")


@pytest.mark.parametrize(
    "name, text",
    [
        ("lib/A/A.cpp", "//\n" * 600),
        ("lib/A/A.cpp", function("void f(int a)", 120)),
        # As many as there may be, one after another.
        ("lib/A/A.cpp", function("void f()", 100) + function("void g()", 100)),
        # Scopes and initialiser lists are no functions.
        ("include/fastk/A/A.h", "namespace fastk {\n" + "int f();\n" * 300 + "}\n"),
        ("lib/A/A.h", "class A : B {\npublic:\n" + "  int f();\n" * 300 + "};\n"),
        ("lib/A/A.cpp", "static const Names names = {\n" + '    "a",\n' * 300 + "};\n"),
        # Tables.
        ("lib/A/A.cpp", table("return", 200)),
        ("lib/A/A.cpp", table("return std::vector<Row>", 200)),
        ("lib/A/A.cpp", table("static const Row rows[] =", 200)),
        (
            "lib/A/A.cpp",
            table("static constexpr Row rows[] =", 200, "};\n  return rows;"),
        ),
        # Elsewhere, or of another kind.
        ("lib/Propose/Catalog/A.cpp", "//\n" * 900 + function("void f()", 300)),
        ("docs/A.cpp", "//\n" * 900),
        ("lib/A/A.td", "//\n" * 900),
    ],
)
def test_what_is_short_enough(name, text, tmp_path):
    result = check(tmp_path, {name: text})
    assert (result.returncode, result.stderr) == (0, "")


@pytest.mark.parametrize(
    "name, text, said",
    [
        ("lib/A/A.cpp", "//\n" * 601, "lib/A/A.cpp: has 601 lines, of at most 600"),
        (
            "unittests/A/A.h",
            "//\n" * 700,
            "unittests/A/A.h: has 700 lines, of at most 600",
        ),
        (
            "tools/a/a.cpp",
            "\n" + function("static void f(int a)", 121),
            "tools/a/a.cpp:2: f has 121 lines, of at most 120",
        ),
        (
            "lib/A/A.cpp",
            "namespace {\nstruct A {\n  int a = 0;\n"
            + function("A::A(int a)\n    : a(a)", 130),
            "lib/A/A.cpp:4: A::A has 131 lines, of at most 120",
        ),
        (
            "include/fastk/A/A.h",
            "namespace fastk {\nclass A {\npublic:\n"
            + function("int f() const", 121)
            + "};\n}\n",
            "include/fastk/A/A.h:4: f has 121 lines, of at most 120",
        ),
        # A function stays one behind a list of values.
        (
            "lib/A/A.cpp",
            "static const int kFew[] = {1,\n    2};\n\n" + function("int g()", 150),
            "lib/A/A.cpp:4: g has 150 lines, of at most 120",
        ),
        # A lambda is part of its function.
        (
            "lib/A/A.cpp",
            "void f() {\n" + function("  auto g = [&]", 125) + "}\n",
            "lib/A/A.cpp:1: f has 127 lines, of at most 120",
        ),
        # What does more than hold a table is none.
        (
            "lib/A/A.cpp",
            table("static const Row rows[] =", 200, "};\n  sort(rows);\n  return rows;"),
            "lib/A/A.cpp:1: names has 202 lines, of at most 120",
        ),
        # Macros have braces of their own; a test is found by its macro.
        (
            "unittests/A/ATest.cpp",
            "#define BRACE {\n" + function("TEST(A, Long)", 122),
            "unittests/A/ATest.cpp:2: TEST has 122 lines, of at most 120",
        ),
    ],
)
def test_a_violation_is_found(name, text, said, tmp_path):
    result = check(tmp_path, {name: text})
    assert result.returncode == 1
    assert result.stderr.splitlines()[0] == said
    assert "check-sizes: 1 found" in result.stderr
