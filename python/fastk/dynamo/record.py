# ===- record.py - What had no winner, for a search elsewhere -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""FASTK_RECORD=DIR: what had no winner, written for a search that runs elsewhere.

A search never runs in a user's call. With FASTK_RECORD each graph that is compiled
leaves its text in a folder, without weights, and beside it what became of its workloads,
also where fastk could do nothing with it; `fastk-opt DIR --search` works such a folder
off, by the share of time that each workload takes.
"""

import contextlib
import datetime
import fcntl
import hashlib
import json
import os

from ..importer import ImporterError, files
from . import graphs


def folder():
    return os.environ.get("FASTK_RECORD") or None


def record_left(module, inputs, reason):
    """Writes why fastk did nothing with a graph, if a folder is wanted."""
    record(module, inputs, None, None, (), reason)


def record(module, inputs, settings, text, workloads, reason=None):
    """Writes what became of a graph, if a folder is wanted.

    A graph whose workloads all have winners leaves no text: there is nothing to search.

    Args:
      settings: compiler.Settings, or None where the graph was not looked at so far.
      text: of the import, or None where there was none.
      workloads: as fastk-opt lists them.
      reason: why fastk did nothing with the graph at all.
    """
    into = folder()
    if into is None:
        return
    digest = _digest(module, inputs)
    missed = [each for each in workloads if each["outcome"] != "hit"]
    # A full disk costs the record, and no call of the user's.
    with contextlib.suppress(OSError, ImporterError):
        os.makedirs(into, exist_ok=True)
        if text is not None and missed:
            files.write_all({os.path.join(into, f"{digest[:16]}.mlir"): text})
        _count(
            os.path.join(into, f"{digest[:16]}.json"),
            {
                "graph": digest,
                "target": settings and settings.target,
                "precision": settings and settings.precision,
                "reason": reason,
                "workloads": [
                    {key: each[key] for key in ("name", "key", "outcome", "reason")}
                    for each in workloads
                ],
            },
        )


def _digest(module, inputs):
    """Names a graph; also one of sizes that a call decides, or that cannot be written."""
    try:
        return graphs.digest(graphs.to_data(module, inputs))
    except Exception:  # it is a name, and no more
        return hashlib.sha256(str(module.graph).encode()).hexdigest()


def _count(path, said):
    """Writes `said`, and how often and when the graph was compiled; others may, too."""
    with open(path, "a+", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        try:
            seen = json.load(file)["seen"]
        except (ValueError, KeyError, TypeError):
            seen = 0
        now = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
        file.seek(0)
        file.truncate()
        json.dump(dict(said, seen=seen + 1, last=now), file, indent=1)
        file.write("\n")
