# ===- test_rules.py - The index of rules is complete -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""docs/rules.md has every rule that a diagnostic ends in, and no other."""

import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "rules.md"

#: Where a rule is an argument: the functions that end a message in it.
PASSED_ON = {
    "lib/Conversion/Cuda/Program/GPUProgramRules.cpp": r'"(fastk\.\w+)"',
    "lib/Conversion/Cuda/PTX/GPUToPTX.cpp": r'targetOfPass\(module, target, "([\w-]+)"',
    "lib/Cuda/CheckDeviceCode.cpp": r'\brefuse\(\s*"([\w-]+)"',
    "lib/Cuda/CheckDeviceFunctions.cpp": r'\brefuse\(\s*"([\w-]+)"',
    "lib/Cuda/PTXProgram.cpp": r'"(fastk\.\w+)"',
    "lib/Dialect/Fastk/FastkDialect.cpp": r'"(fastk\.(?:workload|lowering))"',
}


def rules_of_source():
    found = {}
    for path in sorted((ROOT / "lib").rglob("*.cpp")):
        text = path.read_text()
        name = str(path.relative_to(ROOT))
        # A literal goes on after a line break.
        joined = re.sub(r'"\s*\n?\s*"', "", text)
        rules = re.findall(r"required\s+by\s+'([\w.-]+)'", joined)
        rules += re.findall(PASSED_ON[name], text) if name in PASSED_ON else []
        for rule in rules:
            found.setdefault(rule, name)
    return found


def rules_of_page():
    page = PAGE.read_text()
    rows = re.findall(r"^\| `([\w.-]+)` \|", page, re.M)
    passes = re.search(r"ends in its name: ([^:]*)\.", page, re.S)[1]
    return {*rows, *re.findall(r"`([\w-]+)`", passes)}


def test_every_rule_is_in_the_index():
    missing = {rule: path for rule, path in rules_of_source().items() if rule not in rules_of_page()}
    assert not missing, "add them to docs/rules.md"


def test_the_index_has_no_rule_that_is_gone():
    assert not rules_of_page() - set(rules_of_source())


def test_rules_are_found_at_all():
    rules = rules_of_source()
    # Whole, in two literals, and passed on to a function.
    assert {"fastk.call", "fastk.default_lowering", "fastk.gpu_ops", "indirect-call"} <= set(rules)


def test_links_of_the_index_are_pages():
    for link in re.findall(r"\]\(([\w./-]+)\)", PAGE.read_text()):
        assert (PAGE.parent / link).is_file(), link
