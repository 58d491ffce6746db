# ===- families.py - Whole graphs by families -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""A whole graph as one program, its workloads by families where they have no winner.

Families are admitted on evidence, but nobody has proved or measured their instances for
these workloads. So it is the user who asks for them, and a graph is used only where its
results are PyTorch's and a call of it takes no longer than Inductor's.
"""

import hashlib
import json
import os

from . import compiler, regions
from .errors import Unsupported


def are_wanted():
    """Whether the user asks for them: FASTK_FAMILIES=1."""
    return os.environ.get("FASTK_FAMILIES") == "1"


def region_of(module):
    """All that a graph computes as a Region; raises Unsupported where it is none."""
    inputs, nodes, outputs, results = [], [], [], []
    for node in module.graph.nodes:
        if node.op == "placeholder":
            inputs.append(node)
        elif node.op == "output":
            outputs, results = list(node.all_input_nodes), _flat(node.args)
        else:
            nodes.append(node)
    if outputs != results:
        raise Unsupported("it returns a value twice, or one that it does not compute")
    if not nodes or not outputs or not set(outputs) <= set(nodes):
        raise Unsupported("it returns what it takes, or nothing")
    region = regions.Region("graph", "graph", "", nodes, inputs, outputs, [])
    regions.check_values(region)
    return region


def _flat(value):
    if isinstance(value, (tuple, list)):
        return [each for item in value for each in _flat(item)]
    return [value]


def compile_graph(text, found, settings, store):
    """(path of the program of a graph, its digest, what was said of it in short).

    What was compiled before, or could not be, is not compiled again.

    found: its workloads, as fastk-opt lists them: other winners make another program.
    """
    name = f"wholes/{_digest_of(text, found, settings)}.json"
    known = store.read(name, ("program", "digest", "said"), ("unsupported",))
    # Whoever deletes programs has them made again.
    if known and "program" in known and not os.path.exists(store.path(known["program"])):
        known = None
    if known is None:
        try:
            known = _compile(text, settings, store)
        except Unsupported as error:
            known = {"unsupported": str(error)}
        store.write(name, known)
    if "unsupported" in known:
        raise Unsupported(known["unsupported"])
    return store.path(known["program"]), known["digest"], known["said"]


def _digest_of(text, found, settings):
    """Of all that a program depends on: of fastk-opt what tells one from another."""
    program = os.stat(compiler.program())
    what = [text, settings.options("any,family"), program.st_size, program.st_mtime_ns]
    hits = [(each["key"], each["reason"]) for each in found if each["outcome"] == "hit"]
    what += [os.environ.get("FASTK_BANK"), sorted(set(hits))]
    return hashlib.sha256(json.dumps(what).encode()).hexdigest()[:32]


def _compile(text, settings, store):
    found, path, digest = compiler.compile_text(
        text, settings, store, _check_served, winners="any,family"
    )
    said = f"{_served(found)} of {len(found)} workloads by winners and families"
    return {"program": f"programs/{os.path.basename(path)}", "digest": digest, "said": said}


def _served(found):
    return sum(each["outcome"] in ("hit", "instance") for each in found)


def _check_served(found):
    if not _served(found):
        raise Unsupported("no family serves any of its workloads")
